import type { BenchCase } from '../bench-case.js';
import type { Result } from '../report.js';
import type { Durability } from '../subject.js';
import { rateLimiterRedis } from '../subjects/rate-limiter-redis.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { KEYS, uniform } from './key-sets.js';
import { callersSetting } from './memory-operations.js';

export const REDIS_CALLERS = [64, 1000] as const;

export function redisSetting(durability: Durability, callers: number): string {
  return `${durability}, ${callersSetting(callers)}`;
}

export const redis: BenchCase = {
  id: 'redis',
  title: 'Against Redis',
  chart: 'rates',
  grouped: true,
  describe: () =>
    `One counter with a window and a limit on one of ${KEYS.toLocaleString('en')} addresses: collections.increment on LMDB, and RateLimiterRedis over a ` +
    'private redis-server on a Unix socket, by ioredis with auto-pipelining. Durable is `appendonly yes` with `appendfsync ' +
    'always`, relaxed is `everysec`.',
  run: async (context) => {
    const results: Result[] = [];
    for (const durability of ['durable', 'relaxed'] as const) {
      const settings = REDIS_CALLERS.map((callers) => ({
        setting: redisSetting(durability, callers),
        operation: 'counter' as const,
        keys: uniform,
        callers,
      }));
      results.push(
        ...(await context.compare([
          ...(await context.contend(lmdbNative, durability, settings)),
          ...(await context.contend(lmdbTypeScript, durability, settings)),
          ...(await context.contend(rateLimiterRedis, durability, settings)),
        ])),
      );
    }
    return results;
  },
};
