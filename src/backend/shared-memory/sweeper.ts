/** How far the time between two sweeps is spread, so that threads and processes do not sweep in step. */
const JITTER = 0.1;

/**
 * Sweeps a table every interval, in slices between which other work runs. Of all threads that have the table open, the one
 * whose timer fires first does it.
 */
export class Sweeper {
  readonly #interval: number;
  readonly #claim: (milliseconds: number) => boolean;
  readonly #slice: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;

  /**
   * `interval` in seconds; 0 = never. `claim` tells whether it is this thread's turn, `slice` cleans up a little and tells whether
   * that was the last. The timers do not keep the process alive.
   */
  constructor(interval: number, claim: (milliseconds: number) => boolean, slice: () => boolean) {
    this.#interval = interval * 1000;
    this.#claim = claim;
    this.#slice = slice;
    if (interval > 0) this.#wait();
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#next);
  }

  #wait(): void {
    const spread = 1 - JITTER + 2 * JITTER * Math.random();
    this.#timer = setTimeout(() => {
      if (this.#claim(Math.ceil(this.#interval))) this.#sweep();
      else this.#wait();
    }, this.#interval * spread).unref();
  }

  #sweep(): void {
    if (this.#slice()) this.#wait();
    else this.#next = setImmediate(() => this.#sweep()).unref();
  }
}
