/** Flushes a relaxed environment to disk every interval, in the writer's thread. */
export class SyncTimer {
  readonly #timer: NodeJS.Timeout | undefined;
  #busy = false;
  #failures = 0;

  /** `interval` in seconds; 0 = never. The timer does not keep the process alive. */
  constructor(interval: number, sync: () => Promise<void>) {
    if (interval > 0) this.#timer = setInterval(() => void this.#run(sync), interval * 1000).unref();
  }

  /** Syncs that failed, for the statistics. */
  get failures(): number {
    return this.#failures;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A disk that takes longer than the interval is not given a second sync meanwhile. */
  async #run(sync: () => Promise<void>): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      await sync();
    } catch {
      // What was promised of a relaxed environment still holds; the next sync tries again.
      this.#failures++;
    } finally {
      this.#busy = false;
    }
  }
}
