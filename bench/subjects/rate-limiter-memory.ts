import type { Subject } from '../subject.js';
import { loadPeer, missingPeer } from './peers.js';
import { LIMIT, WINDOW_SECONDS } from './wafstate-operations.js';

/** The part of rate-limiter-flexible that is used. */
export interface Limiter {
  consume(key: string): Promise<{ readonly consumedPoints: number }>;
  get(key: string): Promise<{ readonly consumedPoints: number } | null>;
}

interface Package {
  readonly RateLimiterMemory: new (options: { points: number; duration: number }) => Limiter;
}

export const rateLimiterMemory: Subject = {
  id: 'rate-limiter-memory',
  title: 'rate-limiter-flexible, memory',
  role: 'other',
  nodeOptions: ['--expose-gc', '--max-old-space-size=8192'],
  missing: () => missingPeer('rate-limiter-flexible'),
  open: async () => {
    const { RateLimiterMemory } = loadPeer<Package>('rate-limiter-flexible');
    const limiter = new RateLimiterMemory({ points: LIMIT, duration: WINDOW_SECONDS });
    // One call is all it offers: to a limiter, a counter and a request are the same.
    const consume = (key: string) => limiter.consume(key);
    return {
      operations: { counter: consume, request: consume },
      read: async (key) => (await limiter.get(key))?.consumedPoints ?? 0,
      close: async () => undefined,
    };
  },
};
