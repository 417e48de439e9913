import type { BenchCase } from '../bench-case.js';
import type { OpenSample } from '../load/open-loop.js';
import type { Result } from '../report.js';
import { spread } from '../statistics.js';
import type { SubjectProcess } from '../subject-process.js';
import { betterSqlite3 } from '../subjects/better-sqlite3.js';
import { lmdbJson } from '../subjects/lmdb-json.js';
import { rateLimiterRedis } from '../subjects/rate-limiter-redis.js';
import { transactionPerCommit } from '../subjects/transaction-per-commit.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { KEYS, uniform } from './key-sets.js';

const SUBJECTS = [
  lmdbNative,
  lmdbTypeScript,
  lmdbJson,
  transactionPerCommit,
  betterSqlite3,
  rateLimiterRedis,
];

export const latency: BenchCase = {
  id: 'latency',
  title: 'Latency under load',
  chart: 'latency',
  grouped: true,
  describe: () =>
    `Durable commits on ${KEYS.toLocaleString('en')} records that fall due at a fixed rate, whether earlier ones have been answered or not, ` +
    'timed from when they were due. A line ends at the first rate at which less than 95 % got done.',
  run: async (context) => {
    const processes: SubjectProcess[] = [];
    const results: Result[] = [];
    try {
      for (const subject of SUBJECTS) {
        const process = await context.start(subject);
        if (process === undefined) continue;
        context.say(`${subject.title}, filling`);
        await process.call('prepare', { operation: 'commit', keys: uniform });
        processes.push(process);
      }
      const saturated = new Set<SubjectProcess>();
      for (const rate of context.scale.rates) {
        for (const process of processes) {
          if (saturated.has(process)) continue;
          context.say(`${process.subject.title}, ${rate.toLocaleString('en')}/s`);
          const load = {
            operation: 'commit',
            keys: uniform,
            rate,
            milliseconds: context.scale.rateMs,
          } as const;
          const sample = await process.call('openLoop', load);
          if (sample.saturated) saturated.add(process);
          results.push(resultOf(process, sample));
        }
      }
    } finally {
      for (const process of processes) await process.close();
    }
    return results;
  },
};

function resultOf({ subject }: SubjectProcess, sample: OpenSample): Result {
  return {
    subject: subject.id,
    title: subject.title,
    role: subject.role,
    setting: `${sample.offered.toLocaleString('en')}/s offered`,
    at: sample.offered,
    opsPerSecond: spread([sample.achieved]),
    latency: sample.latency,
    ...(sample.saturated && { note: 'saturated: it could not keep up with this rate' }),
  };
}
