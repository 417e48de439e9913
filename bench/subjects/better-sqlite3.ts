import { join } from 'node:path';
import type { Operation } from '../load/closed-loop.js';
import type { Subject } from '../subject.js';
import { loadPeer, missingPeer } from './peers.js';

interface Statement {
  run(...values: unknown[]): unknown;
  get(...values: unknown[]): unknown;
}

interface Database {
  pragma(setting: string): unknown;
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  transaction(body: () => void): () => void;
  close(): void;
}

type Package = new (path: string) => Database;

/** One upsert a commit, in the write-ahead log: synchronous FULL = on disk when the call returns, NORMAL = at a checkpoint. */
export const betterSqlite3: Subject = {
  id: 'better-sqlite3',
  title: 'better-sqlite3, one upsert a commit',
  role: 'other',
  missing: () => missingPeer('better-sqlite3'),
  open: async ({ directory, durability }) => {
    const Sqlite = loadPeer<Package>('better-sqlite3');
    const database = new Sqlite(join(directory, 'state.sqlite'));
    database.pragma('journal_mode = WAL');
    database.pragma(`synchronous = ${durability === 'durable' ? 'FULL' : 'NORMAL'}`);
    database.exec('CREATE TABLE counter (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID');
    const insert = database.prepare('INSERT INTO counter VALUES (?, 0)');
    const select = database.prepare('SELECT value FROM counter WHERE key = ?');
    const add = database.prepare(
      'INSERT INTO counter VALUES (?, 1) ON CONFLICT DO UPDATE SET value = value + 1 RETURNING value',
    );
    const commit: Operation = (key) => {
      add.get(key);
      return undefined;
    };
    return {
      operations: { commit },
      seed: async (keys) => {
        database.transaction(() => {
          for (const key of keys) insert.run(key);
        })();
      },
      read: async (key) => (select.get(key) as { value: number } | undefined)?.value ?? 0,
      close: async () => database.close(),
    };
  },
};
