import type { CleanupBudget } from '../../contract/backend.js';
import { type NativeEnvironmentAddon, type OnConflict, RESTORE, type RestoreAnswer } from './native-addon.js';
import { openNatively } from './native-environment.js';
import { nativeError } from './native-failure.js';
import type { SweepAnswer, Writer, WriterSetup } from './writer-task.js';

/** A batch from begin to commit is one call into C++: this thread may die at any moment and harms nobody. */
export class NativeWriter implements Writer {
  readonly #addon: NativeEnvironmentAddon;
  readonly #handle: number;
  readonly #writer: bigint;

  constructor(addon: NativeEnvironmentAddon, setup: WriterSetup) {
    this.#addon = addon;
    this.#handle = openNatively(addon, setup, false);
    this.#writer = setup.writerNumber;
  }

  execute(sequence: number, batch: Uint8Array): Uint8Array<ArrayBuffer> {
    const reply = this.#addon.environmentExecute(this.#handle, this.#writer, sequence, batch);
    if (typeof reply === 'number') throw nativeError(this.#addon.environmentFailure());
    return new Uint8Array(reply);
  }

  cleanup(now: bigint, budget: CleanupBudget, interval: bigint): SweepAnswer {
    const answer = this.#addon.environmentCleanup(
      this.#handle,
      now,
      budget.records,
      budget.variables,
      interval,
    );
    if (typeof answer === 'number') throw nativeError(this.#addon.environmentFailure());
    return answer;
  }

  restore(records: Uint8Array, onConflict: OnConflict, now: bigint): RestoreAnswer {
    const answer = this.#addon.environmentRestore(this.#handle, records, RESTORE[onConflict], now);
    if (typeof answer === 'number') throw nativeError(this.#addon.environmentFailure());
    return answer;
  }

  async sync(): Promise<void> {
    if (this.#addon.environmentSync(this.#handle) < 0) throw nativeError(this.#addon.environmentFailure());
  }

  async close(): Promise<void> {
    await this.sync();
    this.#addon.environmentClose(this.#handle);
  }
}
