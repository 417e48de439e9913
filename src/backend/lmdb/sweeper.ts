import type { CleanupBudget } from '../../contract/backend.js';
import { JITTER, jittered, SLICE } from '../sweeper.js';
import type { SweepAnswer } from './writer-task.js';

/** Between two slices, so that a sweep takes no more than a part of the writer's time. */
const PAUSE_MILLISECONDS = 5;

/**
 * The engine's own sweeps. Every interval one process of those that have the environment open makes one round over all
 * records, in slices between which commits run; it stops where it is once half the interval is over, and the next goes on there.
 */
export class Sweeper {
  readonly #interval: number;
  readonly #clean: (budget: CleanupBudget, interval: bigint) => Promise<SweepAnswer>;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();
  #failures = 0;

  /** `interval` in seconds; 0 = never. The timers do not keep the process alive. */
  constructor(interval: number, clean: (budget: CleanupBudget, interval: bigint) => Promise<SweepAnswer>) {
    this.#interval = interval;
    this.#clean = clean;
    if (interval > 0) this.#wait();
  }

  /** Sweeps that failed, for the statistics: the next one tries again. */
  get failures(): number {
    return this.#failures;
  }

  /** Resolves when the slice that is running has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #wait(): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#sweep();
    }, jittered(this.#interval)).unref();
  }

  async #sweep(): Promise<void> {
    const deadline = performance.now() + this.#interval * 500;
    // A little less than the interval, or jitter would make every other sweep find itself too early.
    let interval = BigInt(Math.floor(this.#interval * (1 - 2 * JITTER) * 1e9));
    try {
      while (!this.#stopped && performance.now() < deadline) {
        const answer = await this.#clean(SLICE, interval);
        if (answer.skipped || answer.wrapped) break;
        interval = 0n;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS).unref());
      }
    } catch {
      // Whatever keeps the writer from sweeping keeps commits from succeeding, and they say so.
      this.#failures++;
    }
    this.#wait();
  }
}
