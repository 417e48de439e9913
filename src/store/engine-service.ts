import type { Backend } from '../contract/backend.js';
import type { Clock } from '../contract/clock.js';
import type { EngineEntry } from './config/entries.js';

/** An engine that stores share: open from the start of its first store to the stop of its last. */
export class EngineService {
  entry: EngineEntry;
  /** Milliseconds between two sweeps: the shortest that one of its stores asks for. */
  cleanupInterval: number;
  readonly #clock: Clock;
  #backend: Backend | undefined;
  #users = 0;

  constructor(entry: EngineEntry, cleanupInterval: number, clock: Clock) {
    this.entry = entry;
    this.cleanupInterval = cleanupInterval;
    this.#clock = clock;
  }

  get isRunning(): boolean {
    return this.#backend !== undefined;
  }

  /** For one more store, which lets go of it with `release`. */
  async acquire(): Promise<Backend> {
    this.#backend ??= await this.entry.kind.open(this.entry.config, this.#clock, this.cleanupInterval);
    this.#users++;
    return this.#backend;
  }

  async release(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    const backend = this.#backend;
    this.#backend = undefined;
    await backend?.close();
  }
}
