import type { Backend } from '../contract/backend.js';
import type { Clock } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import type { StoreEntry } from './config/entries.js';
import type { OpenStore, SweptConfig } from './kind/kind.js';

/**
 * One store of a registry, which outlives its starts and stops: handles refer to it. Operations run in it, so that it knows when none does and
 * what is below can be closed without any of them failing.
 */
export class StoreService {
  entry: StoreEntry;
  readonly #clock: Clock;
  #open: OpenStore<SweptConfig> | undefined;
  #removed = false;
  /** Operations that run. */
  #running = 0;
  #onIdle: (() => void) | undefined;
  /** While the engine is opened anew: operations wait for its end. */
  #pause: Promise<void> | undefined;
  #resume: (() => void) | undefined;

  constructor(entry: StoreEntry, clock: Clock) {
    this.entry = entry;
    this.#clock = clock;
  }

  /** Also while it is paused. */
  get isRunning(): boolean {
    return this.#open !== undefined || this.#pause !== undefined;
  }

  /** Rejects with `closed` unless the store runs. Begins at once where it does. */
  async run<T>(work: (store: OpenStore<SweptConfig>) => T | Promise<T>): Promise<T> {
    while (this.#pause !== undefined) await this.#pause;
    const open = this.#open;
    if (open === undefined) throw this.#closed();
    this.#running++;
    try {
      return await work(open);
    } finally {
      this.#running--;
      if (this.#running === 0) this.#onIdle?.();
    }
  }

  /** REQUIRES: it is stopped or paused. */
  async start(database: Backend | undefined): Promise<void> {
    const { kind, config } = this.entry;
    this.#open = await kind.open(config, this.#clock, database);
  }

  /** Takes on an entry that is equal in the fixed fields. */
  reconfigure(entry: StoreEntry): void {
    this.entry = entry;
    this.#open?.reconfigure(entry.config);
  }

  /** New operations are refused, and those that run are waited for. */
  async stop(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await this.#idle();
    await open?.close();
  }

  /** New operations wait, and those that run are waited for. */
  async pause(): Promise<void> {
    this.#pause = new Promise((resolve) => {
      this.#resume = resolve;
    });
    await this.stop();
  }

  /** What waited goes on, or is refused where the store was not started meanwhile. */
  resume(): void {
    this.#pause = undefined;
    this.#resume?.();
  }

  async remove(): Promise<void> {
    this.#removed = true;
    await this.stop();
  }

  #idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = () => {
        this.#onIdle = undefined;
        resolve();
      };
    });
  }

  #closed(): WafStateError {
    const { id } = this.entry;
    return new WafStateError(
      'closed',
      this.#removed
        ? `store '${id}' was removed from the configuration; release this handle`
        : `store '${id}' is not running; start it with stores.start('${id}'), or set lifecycle.auto_start`,
    );
  }
}
