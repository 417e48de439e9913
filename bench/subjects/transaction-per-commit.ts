import { type Key, open } from 'lmdb';
import type { Operation } from '../load/closed-loop.js';
import type { Subject } from '../subject.js';
import { COUNTER_AT, counterRecord } from './counter-record.js';

/**
 * Each commit a write transaction of its own, synced before the call returns: what libmodsecurity's LMDB collections and
 * zig-waf do. On the main thread, with records of the same size as wafstate's.
 */
export const transactionPerCommit: Subject = {
  id: 'transaction-per-commit',
  title: 'lmdb, one transaction per commit',
  role: 'other',
  missing: () => undefined,
  open: async ({ directory, durability }) => {
    const database = open<Buffer, Key>({
      path: directory,
      noSubdir: false,
      encoding: 'binary',
      // Four to nine times faster than the package's default for one synchronous transaction after the other.
      overlappingSync: false,
      noSync: durability === 'relaxed',
      mapSize: 2 ** 30,
    });
    const commit: Operation = (key) => {
      database.transactionSync(() => {
        const record = database.getBinary(key) ?? counterRecord(key);
        record.writeBigInt64LE(record.readBigInt64LE(COUNTER_AT) + 1n, COUNTER_AT);
        database.putSync(key, record);
      });
      return undefined;
    };
    return {
      operations: { commit },
      seed: async (keys) => {
        database.transactionSync(() => {
          for (const key of keys) database.putSync(key, counterRecord(key));
        });
      },
      read: async (key) => Number(database.getBinary(key)?.readBigInt64LE(COUNTER_AT) ?? 0),
      close: () => database.close(),
    };
  },
};
