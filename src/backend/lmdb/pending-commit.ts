import type { CommitOptions, CommitResult, RecordWrite } from '../../contract/backend.js';
import { WafStateError } from '../../contract/errors.js';

type Settled = 'applied' | 'not_applied';

/**
 * One commit from its acceptance to its end, and the promise that its caller holds. A thousand of them wait at a time, and the
 * garbage collector copies what waits: every field costs.
 */
export class PendingCommit {
  readonly promise: Promise<readonly CommitResult[]>;
  readonly writes: readonly RecordWrite[];
  readonly options: CommitOptions;
  /** Encoded. */
  readonly bytes: number;
  /** By `performance.now()`: when its caller stops waiting. */
  readonly deadline: number | undefined;
  #sent = false;
  /** The caller has heard: what comes later goes to `error.settled`. */
  #answered = false;
  #resolve!: (results: readonly CommitResult[]) => void;
  #reject!: (error: WafStateError) => void;
  #tell: ((settled: Settled) => void) | undefined;

  constructor(writes: readonly RecordWrite[], options: CommitOptions, bytes: number) {
    this.writes = writes;
    this.options = options;
    this.bytes = bytes;
    this.deadline =
      options.deadline === undefined
        ? undefined
        : performance.now() + Number(options.deadline - options.now) / 1e6;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Whether its caller has heard. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Whether its caller gave up before it left: then it must never be sent. */
  get withdrawn(): boolean {
    return this.#answered && !this.#sent;
  }

  send(): void {
    this.#sent = true;
  }

  /** The engine's answer. */
  settle(answer: readonly CommitResult[] | WafStateError): void {
    const refused = answer instanceof WafStateError;
    if (this.#answered) this.#tell?.(refused ? 'not_applied' : 'applied');
    else if (refused) this.#reject(answer);
    else this.#resolve(answer);
    this.#answered = true;
  }

  /** It is applied, but what it left was lost with the thread that knew. */
  settleBlindly(): void {
    if (this.#answered) {
      this.#tell?.('applied');
      return;
    }
    this.#answered = true;
    this.#reject(
      new WafStateError(
        'writer_lost',
        'the writer thread died after it applied the commit; load the record to see its values',
        {
          details: { outcome: 'unknown' },
          settled: Promise.resolve('applied' as const),
        },
      ),
    );
  }

  /** Its caller stops waiting. `error.settled` tells the end of what has left already. */
  giveUp(code: 'timeout' | 'writer_lost', message: string): void {
    if (this.#answered) return;
    this.#answered = true;
    const outcome = this.#sent ? 'unknown' : 'not_sent';
    const settled = this.#sent ? { settled: new Promise<Settled>((resolve) => (this.#tell = resolve)) } : {};
    this.#reject(new WafStateError(code, message, { details: { outcome }, ...settled }));
  }
}
