import type { BenchCase } from '../bench-case.js';
import type { Durability } from '../subject.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { BATCH_1000 } from './durable-commits.js';
import { KEYS, uniform } from './key-sets.js';

export const DEEP = '4,000 in flight';

function limitCase(durability: Durability): BenchCase {
  return {
    id: `limit_${durability}`,
    title: `Against the physical limit, ${durability}`,
    chart: 'rates',
    describe: () =>
      `4,000 commits in flight on ${KEYS.toLocaleString('en')} records, against a C program over the same liblmdb that reads, ` +
      'patches and puts the same record bytes in transactions of 1,000 with the same durability. Its second line sorts each ' +
      'batch and writes through the cursor that read: the fastest way we know, and no part of the goal.',
    run: async (context) => {
      const deep = [{ setting: DEEP, operation: 'commit', keys: uniform, callers: 4000 }] as const;
      const limit = { keys: KEYS, durability, batch: 1000 };
      return context.compare([
        ...(await context.contend(lmdbNative, durability, deep)),
        ...(await context.contend(lmdbTypeScript, durability, deep)),
        ...context.limit({ ...limit, method: 'put' }, BATCH_1000),
        ...context.limit({ ...limit, method: 'tuned' }, BATCH_1000),
      ]);
    },
  };
}

export const limitDurable = limitCase('durable');
export const limitRelaxed = limitCase('relaxed');
