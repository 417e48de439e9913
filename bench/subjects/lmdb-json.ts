import { type Key, open } from 'lmdb';
import type { Operation } from '../load/closed-loop.js';
import type { Subject } from '../subject.js';

interface JsonRecord {
  readonly created: number;
  updated: number;
  updateCount: number;
  readonly variables: Record<string, number>;
}

function newRecord(now: number): JsonRecord {
  return { created: now, updated: now, updateCount: 0, variables: { requests: 0 } };
}

/**
 * The lmdb package as one would first use it: JSON records, read, changed and put in `transaction()` on the main thread. The
 * package collects those of one turn of the event loop into one LMDB transaction and syncs it in a thread of its own.
 */
export const lmdbJson: Subject = {
  id: 'lmdb-json',
  title: 'lmdb, JSON on the main thread',
  role: 'other',
  missing: () => undefined,
  open: async ({ directory, durability }) => {
    const database = open<JsonRecord, Key>({
      path: directory,
      noSubdir: false,
      encoding: 'json',
      // Else a promise would be settled before its transaction is on disk.
      overlappingSync: false,
      noSync: durability === 'relaxed',
      mapSize: 2 ** 30,
    });
    const commit: Operation = (key) =>
      database.transaction(() => {
        const now = Date.now();
        const record = database.get(key) ?? newRecord(now);
        record.updated = now;
        record.updateCount++;
        record.variables['requests'] = (record.variables['requests'] ?? 0) + 1;
        database.put(key, record);
      });
    return {
      operations: { commit },
      seed: async (keys) => {
        database.transactionSync(() => {
          for (const key of keys) database.putSync(key, newRecord(Date.now()));
        });
      },
      read: async (key) => database.get(key)?.variables['requests'] ?? 0,
      close: () => database.close(),
    };
  },
};
