import type { Clock } from '../../src/contract/clock.js';

/** A clock that stands still until the test moves it. */
export class ManualClock implements Clock {
  time = 1_800_000_000_000_000_000n;

  now(): bigint {
    return this.time;
  }

  /** Seconds, with fractions. */
  advance(seconds: number): void {
    this.time += BigInt(Math.round(seconds * 1e9));
  }
}
