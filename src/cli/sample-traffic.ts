import { SECOND } from '../contract/clock.js';
import { Random } from '../testing/random.js';
import type { LogEntry } from './access-log.js';

export interface SampleOptions {
  readonly seed: number;
  readonly requests: number;
  /** Nanoseconds since the epoch: the traffic begins here. */
  readonly start: bigint;
}

/** How long the sample lasts, in seconds, whatever its number of requests. */
const DURATION = 1200;
/** As many as 198.18.0.0/15 holds. */
const MAX_CLIENTS = 2 ** 17;

/** A scanner in a burst, two steady brute-forcers, and a slow one that stays just above a limit of 30 in 300 seconds. */
const ATTACKERS = [
  { address: '203.0.113.66', from: 60, to: 75, requests: 400 },
  { address: '198.51.100.23', from: 0, to: DURATION, requests: 900 },
  { address: '2001:db8:bad::1', from: 300, to: 900, requests: 300 },
  { address: '203.0.113.200', from: 0, to: DURATION, requests: 160 },
] as const;

/**
 * Made-up traffic, the same for the same seed: clients that each stay well below the default limit, and attackers
 * that do not. At least the attackers' requests, at most some 2.5 million. All addresses are from the ranges reserved for documentation and benchmarks.
 */
export function sampleTraffic({ seed, requests, start }: SampleOptions): LogEntry[] {
  const generator = new Random(seed);
  const random = () => generator.below(2 ** 32) / 2 ** 32;
  const entries: { address: string; second: number }[] = [];
  for (const { address, from, to, requests: count } of ATTACKERS) {
    for (let i = 0; i < count; i++) entries.push({ address, second: from + random() * (to - from) });
  }
  for (let client = 0; entries.length < requests && client < MAX_CLIENTS; client++) {
    const address = `198.${18 + (client >> 16)}.${(client >> 8) & 255}.${client & 255}`;
    // Visits begin 400 seconds apart and end within 90, so that no window of 300 seconds sees two of them.
    for (let visit = 0; visit < 3; visit++) {
      if (random() < 0.4) continue;
      const begin = visit * 400 + random() * 60;
      const length = 1 + Math.floor(random() * 20);
      for (let i = 0; i < length; i++) entries.push({ address, second: begin + random() * 30 });
    }
  }
  return entries
    .sort((a, b) => a.second - b.second)
    .map(({ address, second }) => ({ address, time: start + BigInt(Math.floor(second)) * SECOND }));
}
