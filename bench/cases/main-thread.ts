import type { BenchCase } from '../bench-case.js';
import { settledPromises } from '../subjects/settled-promises.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { IN_FLIGHT } from './durable-commits.js';
import { uniform } from './key-sets.js';

export const mainThread: BenchCase = {
  id: 'main_thread',
  title: 'What a commit costs the main thread',
  chart: 'figures',
  unit: 'CPU µs of the main thread per commit',
  describe: () =>
    'CPU time of the main thread alone (per thread, from the system: no worker and no collector helper is in it) per durable ' +
    'commit at 1,000 in flight, beside that of promises that one pool.run with a buffer of the same size settles, under the same ' +
    'load generator.',
  run: async (context) => {
    const callers = [{ setting: IN_FLIGHT, operation: 'commit', keys: uniform, callers: 1000 }] as const;
    const results = await context.compare([
      ...(await context.contend(lmdbNative, 'durable', callers)),
      ...(await context.contend(lmdbTypeScript, 'durable', callers)),
      ...(await context.contend(settledPromises, 'durable', callers)),
    ]);
    return results.map(({ mainThreadMicroseconds, ...rest }) => ({
      ...rest,
      ...(mainThreadMicroseconds === undefined
        ? { note: 'this system does not tell the CPU time of a thread' }
        : { mainThreadMicroseconds, figure: mainThreadMicroseconds }),
    }));
  },
};
