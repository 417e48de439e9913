import { Piscina } from 'piscina';
import { WafStateError } from '../../contract/errors.js';
import type { BatchFate } from './environment.js';
import type { RestoreAnswer } from './native-addon.js';
import {
  type FailedAnswer,
  isFailure,
  type SweepAnswer,
  type WriterAnswer,
  type WriterSetup,
  type WriterTask,
} from './writer-task.js';

/** How long to wait before asking again for a batch whose thread is gone but whose transaction still runs. */
const FATE_POLL_MILLISECONDS = 5;

export type BatchOutcome =
  | Exclude<BatchFate, { readonly type: 'executing' }>
  /** Nothing of it was tried, nor would it be at a second try. */
  | { readonly type: 'refused'; readonly error: WafStateError };

export interface WriterHostOptions {
  readonly setup: WriterSetup;
  /** Milliseconds without an answer after which the writer counts as lost. */
  readonly timeout: number;
  /** The worker's file; the built writer.js beside this module unless a test brings its own. */
  readonly worker: URL;
  /** What became of a batch whose thread died. */
  readonly fate: (sequence: number) => BatchFate;
  /** Called when the writer is declared lost. */
  readonly onLost: (error: WafStateError) => void;
  /** Called when one that was lost has answered after all: the disk or the process that held it up goes on. */
  readonly onFound: () => void;
}

/**
 * The one thread of this backend that writes, and the watch over it. A thread that dies is replaced at once; one that is
 * silent is declared lost, since nothing can be done about a thread that hangs in a lock or a disk, until it answers by itself.
 */
export class WriterHost {
  readonly #options: WriterHostOptions;
  readonly #pool: Piscina;
  #sequence = 0;
  #outstanding = 0;
  #watchdog: NodeJS.Timeout | undefined;
  /** The first half of the timeout has gone by without an answer. */
  #suspected = false;
  #lost: WafStateError | undefined;
  /** Who waits for an answer that a lost writer will never give. */
  readonly #waiting = new Set<(error: WafStateError) => void>();

  constructor(options: WriterHostOptions) {
    this.#options = options;
    this.#pool = new Piscina({
      filename: options.worker.href,
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      workerData: options.setup,
    });
    // An idle writer that dies has failed nobody: piscina has replaced it when it says so.
    this.#pool.on('error', () => undefined);
  }

  /** Why the writer is lost; undefined while it is not. */
  get lost(): WafStateError | undefined {
    return this.#lost;
  }

  /** Resolves once the writer has the environment open. Where it cannot, its thread is ended and this rejects. */
  async open(): Promise<void> {
    try {
      await this.#answer({ type: 'open' });
    } catch (error) {
      await this.#end();
      throw error;
    }
  }

  /** Never rejects. The batch is handed over and must not be touched again. */
  execute(batch: Uint8Array<ArrayBuffer>): Promise<BatchOutcome> {
    const sequence = ++this.#sequence;
    return this.#watched(async () => {
      let answer: WriterAnswer;
      try {
        answer = await this.#run({ type: 'batch', sequence, batch }, [batch.buffer]);
      } catch {
        // Only the thread's death comes here: what goes wrong inside it is in the answer.
        return this.#fate(sequence);
      }
      if (answer instanceof Uint8Array) return { type: 'replied', reply: answer };
      return isFailure(answer) ? { type: 'refused', error: errorOf(answer) } : { type: 'not_executed' };
    });
  }

  async cleanup(task: Omit<Extract<WriterTask, { type: 'cleanup' }>, 'type'>): Promise<SweepAnswer> {
    return (await this.#answer({ type: 'cleanup', ...task })) as SweepAnswer;
  }

  async restore(task: Omit<Extract<WriterTask, { type: 'restore' }>, 'type'>): Promise<RestoreAnswer> {
    return (await this.#answer({ type: 'restore', ...task })) as RestoreAnswer;
  }

  async sync(): Promise<void> {
    await this.#answer({ type: 'sync' });
  }

  /** Lets the thread close the environment, then ends it. A lost one is left to itself. */
  async close(): Promise<void> {
    if (this.#lost !== undefined) return;
    try {
      await this.#answer({ type: 'close' });
    } finally {
      await this.#end();
    }
  }

  /** REQUIRES: nothing is outstanding, unless the writer is lost: the pool would wait for it. */
  async #end(): Promise<void> {
    if (this.#lost === undefined) await this.#pool.close();
  }

  /** Rejects with `writer_lost` once the writer is. */
  async #answer(task: WriterTask): Promise<WriterAnswer> {
    if (this.#lost !== undefined) throw this.#lost;
    const answer = await this.#watched(() => this.#untilLost(task));
    if (isFailure(answer)) throw errorOf(answer);
    return answer;
  }

  #untilLost(task: WriterTask): Promise<WriterAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      this.#run(task, [])
        .then(resolve, (cause) =>
          reject(
            new WafStateError(
              'unavailable',
              `the writer thread died during ${task.type}; it was replaced, try again`,
              { cause },
            ),
          ),
        )
        .finally(() => this.#waiting.delete(reject));
    });
  }

  async #run(task: WriterTask, transferList: ArrayBuffer[]): Promise<WriterAnswer> {
    try {
      return (await this.#pool.run(task, { transferList })) as WriterAnswer;
    } finally {
      if (this.#lost !== undefined) this.#find();
    }
  }

  async #watched<T>(work: () => Promise<T>): Promise<T> {
    this.#outstanding++;
    // What comes later is no sign of life: only who has nothing to wait for begins the watch.
    if (this.#watchdog === undefined) this.#watch();
    try {
      return await work();
    } finally {
      this.#outstanding--;
      this.#watch();
    }
  }

  /** Any answer is a sign of life, so the watch begins anew with each. */
  #watch(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = undefined;
    this.#suspected = false;
    if (this.#outstanding > 0 && this.#lost === undefined) this.#wait();
  }

  #wait(): void {
    this.#watchdog = setTimeout(() => this.#suspect(), this.#options.timeout / 2).unref();
  }

  /**
   * In two halves: where this thread was blocked or the whole process was stopped, the first is over before the answer that lies
   * ready was seen, and the second gives it time.
   */
  #suspect(): void {
    if (this.#suspected) {
      this.#declareLost();
      return;
    }
    this.#suspected = true;
    this.#wait();
  }

  #declareLost(): void {
    this.#lost = new WafStateError(
      'writer_lost',
      `the LMDB writer gave no sign for ${this.#options.timeout / 1000} s (writerTimeout), so a disk stalls or another process holds the environment; writes go on once that ends, else restart this process, and any other that writes to the environment and hangs; reads go on`,
      { details: { option: 'writerTimeout', limit: this.#options.timeout } },
    );
    this.#options.onLost(this.#lost);
    for (const reject of this.#waiting) reject(this.#lost);
    this.#waiting.clear();
  }

  #find(): void {
    this.#lost = undefined;
    this.#options.onFound();
  }

  async #fate(sequence: number): Promise<BatchOutcome> {
    for (;;) {
      const fate = this.#options.fate(sequence);
      if (fate.type !== 'executing') return fate;
      if (this.#lost !== undefined) return { type: 'unknown' };
      await new Promise((resolve) => setTimeout(resolve, FATE_POLL_MILLISECONDS));
    }
  }
}

function errorOf({ failure }: FailedAnswer): WafStateError {
  return new WafStateError(failure.code, failure.message, { details: failure.details });
}
