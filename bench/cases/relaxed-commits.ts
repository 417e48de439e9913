import type { BenchCase } from '../bench-case.js';
import { betterSqlite3 } from '../subjects/better-sqlite3.js';
import { lmdbJson } from '../subjects/lmdb-json.js';
import { transactionPerCommit } from '../subjects/transaction-per-commit.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { BATCH_1000, IN_FLIGHT } from './durable-commits.js';
import { KEYS, uniform } from './key-sets.js';
import { callersSetting } from './memory-operations.js';

export const relaxedCommits: BenchCase = {
  id: 'relaxed_commits',
  title: 'Relaxed commits',
  chart: 'rates',
  describe: () =>
    'As durable commits, but acknowledged when every process can see it: a crash of the process loses nothing, a power cut may.',
  run: async (context) => {
    const callers = [{ setting: IN_FLIGHT, operation: 'commit', keys: uniform, callers: 1000 }] as const;
    const oneByOne = [
      { setting: callersSetting(1), operation: 'commit', keys: uniform, callers: 1 },
    ] as const;
    return context.compare([
      ...(await context.contend(lmdbNative, 'relaxed', callers)),
      ...(await context.contend(lmdbTypeScript, 'relaxed', callers)),
      ...(await context.contend(lmdbJson, 'relaxed', callers)),
      ...(await context.contend(transactionPerCommit, 'relaxed', oneByOne)),
      ...(await context.contend(betterSqlite3, 'relaxed', oneByOne)),
      ...context.limit({ keys: KEYS, durability: 'relaxed', batch: 1000, method: 'put' }, BATCH_1000),
    ]);
  },
};
