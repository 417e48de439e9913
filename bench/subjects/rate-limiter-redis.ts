import type { Subject } from '../subject.js';
import { loadPeer, missingPeer } from './peers.js';
import type { Limiter } from './rate-limiter-memory.js';
import { redisVersion, startRedis } from './redis-server.js';
import { LIMIT, WINDOW_SECONDS } from './wafstate-operations.js';

interface Client {
  disconnect(): void;
}

type ClientPackage = new (options: { path: string; enableAutoPipelining: boolean }) => Client;

interface LimiterPackage {
  readonly RateLimiterRedis: new (options: {
    storeClient: Client;
    points: number;
    duration: number;
  }) => Limiter;
}

export const rateLimiterRedis: Subject = {
  id: 'rate-limiter-redis',
  title: 'rate-limiter-flexible, Redis',
  role: 'other',
  missing: () =>
    missingPeer('rate-limiter-flexible') ??
    missingPeer('ioredis') ??
    (redisVersion() === undefined ? 'there is no redis-server on the path' : undefined),
  open: async ({ directory, durability }) => {
    const server = await startRedis(directory, durability);
    const IORedis = loadPeer<ClientPackage>('ioredis');
    const { RateLimiterRedis } = loadPeer<LimiterPackage>('rate-limiter-flexible');
    // Pipelining is what ioredis offers for many callers; without it Redis would be measured by its system calls.
    const client = new IORedis({ path: server.socket, enableAutoPipelining: true });
    const limiter = new RateLimiterRedis({ storeClient: client, points: LIMIT, duration: WINDOW_SECONDS });
    const consume = (key: string) => limiter.consume(key);
    return {
      operations: { commit: consume, counter: consume },
      read: async (key) => (await limiter.get(key))?.consumedPoints ?? 0,
      close: async () => {
        client.disconnect();
        await server.stop();
      },
    };
  },
};
