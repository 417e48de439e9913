import type { CleanupBudget } from '../contract/backend.js';
import { DEFAULT_LIMITS } from '../contract/limits.js';

/** How far the time between two sweeps is spread, so that threads and processes do not sweep in step. */
export const JITTER = 0.1;

/** What a sweep of an engine's own looks at in one go. */
export const SLICE: CleanupBudget = {
  records: DEFAULT_LIMITS.cleanupRecords,
  variables: DEFAULT_LIMITS.cleanupVariables,
};

/** Milliseconds to wait where sweeps are `interval` seconds apart. */
export function jittered(interval: number): number {
  return interval * 1000 * (1 - JITTER + 2 * JITTER * Math.random());
}

/**
 * Sweeps an engine in memory every interval, in slices between which other work runs. Of all threads that have it open, the one
 * whose timer fires first does it.
 */
export class Sweeper {
  readonly #interval: number;
  readonly #claim: (milliseconds: number) => boolean;
  readonly #begin: () => () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;

  /**
   * `interval` in seconds; 0 = never. `claim` tells whether it is this thread's turn, `begin` begins a pass, of which each call
   * cleans up a little and tells whether that was the last: a pass has one time, or it would not end. The timers do not keep
   * the process alive.
   */
  constructor(interval: number, claim: (milliseconds: number) => boolean, begin: () => () => boolean) {
    this.#interval = interval;
    this.#claim = claim;
    this.#begin = begin;
    if (interval > 0) this.#wait();
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#next);
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      if (this.#claim(Math.ceil(this.#interval * 1000))) this.#sweep(this.#begin());
      else this.#wait();
    }, jittered(this.#interval)).unref();
  }

  #sweep(slice: () => boolean): void {
    if (slice()) this.#wait();
    else this.#next = setImmediate(() => this.#sweep(slice)).unref();
  }
}
