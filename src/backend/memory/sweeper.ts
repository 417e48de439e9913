import type { CleanupBudget, CleanupResult } from '../../contract/backend.js';
import { DEFAULT_LIMITS } from '../../contract/limits.js';

/** How far the time between two sweeps is spread, so that many processes do not sweep in step. */
const JITTER = 0.1;

const SLICE: CleanupBudget = {
  records: DEFAULT_LIMITS.cleanupRecords,
  variables: DEFAULT_LIMITS.cleanupVariables,
};

/** An engine's own sweeps: every interval one pass over all records, in slices between which other work runs. */
export class Sweeper {
  readonly #interval: number;
  readonly #clean: (budget: CleanupBudget) => CleanupResult;
  #timer: NodeJS.Timeout | undefined;
  #slice: NodeJS.Immediate | undefined;

  /** `interval` in seconds; 0 = never. The timers do not keep the process alive. */
  constructor(interval: number, clean: (budget: CleanupBudget) => CleanupResult) {
    this.#interval = interval;
    this.#clean = clean;
    if (interval > 0) this.#wait();
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#slice);
  }

  #wait(): void {
    const spread = 1 - JITTER + 2 * JITTER * Math.random();
    this.#timer = setTimeout(() => this.#sweep(), this.#interval * 1000 * spread).unref();
  }

  #sweep(): void {
    if (this.#clean(SLICE).wrapped) this.#wait();
    else this.#slice = setImmediate(() => this.#sweep()).unref();
  }
}
