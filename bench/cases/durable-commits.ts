import type { BenchCase } from '../bench-case.js';
import { betterSqlite3 } from '../subjects/better-sqlite3.js';
import { lmdbJson } from '../subjects/lmdb-json.js';
import { transactionPerCommit } from '../subjects/transaction-per-commit.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { KEYS, uniform } from './key-sets.js';
import { callersSetting } from './memory-operations.js';

export const IN_FLIGHT = '1,000 in flight';
export const ONE_BY_ONE = 'one transaction each';
export const BATCH_1000 = 'batches of 1,000';

export const durableCommits: BenchCase = {
  id: 'durable_commits',
  title: 'Durable commits',
  chart: 'rates',
  describe: () =>
    `One commit adds 1 to a counter of one of ${KEYS.toLocaleString('en')} records and is acknowledged when it is on disk. ` +
    '1,000 callers wait for their answer before they ask again, where a subject can take more than one at a time. The C ' +
    'program does the same to the same bytes in transactions of 1,000 and of one.',
  run: async (context) => {
    const callers = [{ setting: IN_FLIGHT, operation: 'commit', keys: uniform, callers: 1000 }] as const;
    const oneByOne = [
      { setting: callersSetting(1), operation: 'commit', keys: uniform, callers: 1 },
    ] as const;
    const limit = { keys: KEYS, durability: 'durable' } as const;
    return context.compare([
      ...(await context.contend(lmdbNative, 'durable', callers)),
      ...(await context.contend(lmdbTypeScript, 'durable', callers)),
      ...(await context.contend(lmdbJson, 'durable', callers)),
      ...(await context.contend(transactionPerCommit, 'durable', oneByOne)),
      ...(await context.contend(betterSqlite3, 'durable', oneByOne)),
      ...context.limit({ ...limit, batch: 1000, method: 'put' }, BATCH_1000),
      ...context.limit({ ...limit, batch: 1, method: 'put' }, ONE_BY_ONE),
    ]);
  },
};
