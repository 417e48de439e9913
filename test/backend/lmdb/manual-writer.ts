import type { BatchOutcome } from '../../../src/backend/lmdb/writer-host.js';
import { BatchExecutor } from '../../../src/record/batch.js';

/** A writer whose batches wait until the test answers them. */
export class ManualWriter {
  readonly batches: Uint8Array[] = [];
  readonly #answers: ((outcome: BatchOutcome) => void)[] = [];
  readonly #records = new Map<string, Buffer>();
  #revision = 0;

  readonly execute = (batch: Uint8Array<ArrayBuffer>): Promise<BatchOutcome> => {
    this.batches.push(batch);
    return new Promise((resolve) => this.#answers.push(resolve));
  };

  /** Whether a batch is in flight. */
  get busy(): boolean {
    return this.#answers.length > 0;
  }

  /** Requests of the batch in flight. */
  get size(): number {
    return new BatchExecutor(this.batches.at(-1) as Uint8Array).requests;
  }

  apply(): void {
    const executor = new BatchExecutor(this.batches.at(-1) as Uint8Array);
    executor.execute({
      read: (key) => this.#records.get(key.toString('latin1')),
      takeRevision: () => ++this.#revision,
    });
    for (const { key, record } of executor.changes())
      this.#records.set(key.toString('latin1'), record as Buffer);
    this.answer({ type: 'replied', reply: executor.reply() });
  }

  answer(outcome: BatchOutcome): void {
    const [resolve] = this.#answers.splice(0, 1);
    resolve?.(outcome);
  }
}
