import { type CommitOptions, type CommitResult, overdue, type RecordWrite } from '../../contract/backend.js';
import { WafStateError } from '../../contract/errors.js';
import { ReplyReader } from '../../record/reply.js';
import {
  MUTATION_HEADER_BYTES,
  REQUEST_HEADER_BYTES,
  RequestWriter,
  WRITE_HEADER_BYTES,
} from '../../record/request.js';
import { Deadlines } from './deadlines.js';
import { PendingCommit } from './pending-commit.js';
import type { BatchOutcome } from './writer-host.js';

/** A batch that has grown to this size is closed, so that a transaction stays short whatever the bound of the queue. */
const BATCH_BYTES = 4 * 2 ** 20;

/** The most that any mutation takes beside its header, name and value. */
const MUTATION_REST_BYTES = 24;

export interface GroupCommitOptions {
  /** Bounds of what waits or is in flight. */
  readonly queueRequests: number;
  readonly queueBytes: number;
  /** The fewest commits that are worth a transaction of their own where more are at hand; may be infinite. */
  readonly sliceRequests: number;
  /** Executes one batch; never rejects. Not called again before it has settled. */
  readonly execute: (batch: Uint8Array<ArrayBuffer>) => Promise<BatchOutcome>;
  /** What a commit rejects with that was refused for this reason: it, or another that tells more. Never throws. */
  readonly explain: (refusal: WafStateError) => WafStateError;
}

interface Flight {
  readonly commits: readonly PendingCommit[];
  readonly outcome: Promise<BatchOutcome>;
}

interface Batch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly commits: readonly PendingCommit[];
}

/**
 * Group commit: every commit is encoded into the open batch at once, at most one batch is in flight, and all that arrives
 * meanwhile makes the next. So one fsync serves as many commits as came during the one before it.
 *
 * The writer is not kept waiting for this thread: what arrived meanwhile leaves before the batch that came back is settled.
 * Where nothing did, because every caller waits for an answer before it asks again, half of the batch is settled first if that is
 * worth a transaction. What its callers ask for next leaves while the other half is settled, and from then on both threads are at work.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #writer = new RequestWriter();
  readonly #deadlines = new Deadlines(() => this.#waiting());
  #open: PendingCommit[] = [];
  /** Batches that grew to their size while another was in flight, oldest first. */
  #closed: Batch[] = [];
  #inFlight: readonly PendingCommit[] = [];
  #requests = 0;
  #bytes = 0;
  #running = false;
  #abandoned = false;
  #refusal: WafStateError | undefined;
  #whenIdle: (() => void)[] = [];

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Commits that wait or are in flight. */
  get requests(): number {
    return this.#requests;
  }

  /** The same in encoded bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** REQUIRES: `checkCommit` has passed, and there is at least one write. */
  commit(writes: readonly RecordWrite[], options: CommitOptions): Promise<readonly CommitResult[]> {
    const refusal = this.#refusal ?? this.#overBound(writes) ?? overdue(options);
    if (refusal !== undefined) return Promise.reject(refusal);
    const bytes = this.#writer.append(writes, options.now, options.limits);
    const pending = new PendingCommit(writes, options, bytes);
    this.#requests++;
    this.#bytes += bytes;
    this.#open.push(pending);
    if (pending.deadline !== undefined) this.#deadlines.watch(pending.deadline);
    if (this.#writer.length >= BATCH_BYTES) this.#close();
    this.#schedule();
    return pending.promise;
  }

  /** Refuses every later commit with `error`; those accepted go on. */
  refuse(error: WafStateError): void {
    this.#refusal ??= error;
  }

  /** The writer is lost: nobody knows the end of what is in flight, and what waits will never leave. */
  abandon(error: WafStateError): void {
    this.#abandoned = true;
    this.refuse(error);
    for (const pending of this.#inFlight) pending.giveUp('writer_lost', error.message);
    for (const pending of [...this.#closed.flatMap((batch) => batch.commits), ...this.#open]) {
      this.#leave(pending);
      pending.giveUp('writer_lost', error.message);
    }
    this.#closed = [];
    this.#open = [];
    this.#writer.clear();
    this.#signalIdle();
  }

  /** The writer that was lost has answered: commits are accepted again. Its answer comes next. */
  resume(): void {
    this.#abandoned = false;
    this.#refusal = undefined;
  }

  /** Resolves once everything accepted has settled, or the writer is lost. */
  async drain(): Promise<void> {
    if (this.#running && !this.#abandoned) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }

  *#waiting(): Generator<PendingCommit> {
    yield* this.#inFlight;
    for (const batch of this.#closed) yield* batch.commits;
    yield* this.#open;
  }

  #overBound(writes: readonly RecordWrite[]): WafStateError | undefined {
    const { queueRequests, queueBytes } = this.#options;
    if (this.#requests >= queueRequests) {
      return queueFull('queueRequests', queueRequests, this.#requests + 1, 'commits');
    }
    const bytes = mostBytes(writes);
    if (this.#bytes + bytes <= queueBytes) return undefined;
    if (bytes <= queueBytes) return queueFull('queueBytes', queueBytes, this.#bytes + bytes, 'bytes');
    return new WafStateError(
      'capacity_exceeded',
      `the commit takes ${bytes} bytes, queueBytes allows ${queueBytes} for all commits that wait; split it, or raise queueBytes`,
      { details: { option: 'queueBytes', limit: queueBytes, actual: bytes } },
    );
  }

  /** Begins at the end of the turn, so that the commits of one turn share the first batch. */
  #schedule(): void {
    if (this.#running) return;
    this.#running = true;
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    let flight = this.#depart();
    while (flight !== undefined) {
      flight = await this.#land(flight);
      // Nothing may come between the last look at what waits and the end.
      flight ??= this.#depart();
    }
    this.#running = false;
    this.#signalIdle();
  }

  /**
   * Settles the batch once it is back; returns the one that left meanwhile, if any. A function of its own, so that what it
   * settled is garbage when it returns: `run` may be suspended for ever after.
   */
  async #land({ commits, outcome }: Flight): Promise<Flight | undefined> {
    const landed = await outcome;
    this.#inFlight = [];
    if (landed.type !== 'replied') {
      this.#settle(commits, landed);
      return undefined;
    }
    const reader = new ReplyReader(landed.reply);
    let flight = this.#depart();
    let settled = 0;
    if (flight === undefined && commits.length >= 2 * this.#options.sliceRequests) {
      settled = commits.length >>> 1;
      this.#settleSlice(commits, 0, settled, reader);
      await endOfTurn();
      flight = this.#depart();
    }
    this.#settleSlice(commits, settled, commits.length, reader);
    return flight;
  }

  /** Sends what waits, if anything does. */
  #depart(): Flight | undefined {
    for (let batch = this.#next(); batch !== undefined; batch = this.#next()) {
      if (batch.commits.length === 0) continue;
      this.#inFlight = batch.commits;
      for (const pending of batch.commits) pending.send();
      return { commits: batch.commits, outcome: this.#options.execute(batch.bytes) };
    }
    return undefined;
  }

  #settleSlice(commits: readonly PendingCommit[], from: number, to: number, reader: ReplyReader): void {
    for (let i = from; i < to; i++) {
      const pending = commits[i] as PendingCommit;
      this.#leave(pending);
      const answer = reader.next(pending.writes);
      pending.settle(answer instanceof WafStateError ? this.#options.explain(answer) : answer);
    }
  }

  #close(): void {
    this.#closed.push({ bytes: this.#writer.take() as Buffer<ArrayBuffer>, commits: this.#open });
    this.#open = [];
  }

  #next(): Batch | undefined {
    if (this.#closed.length === 0 && this.#open.length > 0) this.#close();
    const batch = this.#closed.shift();
    return batch?.commits.some((pending) => pending.withdrawn) === true
      ? this.#withoutWithdrawn(batch)
      : batch;
  }

  /** What timed out while it waited is cut out: its caller was told that it was never sent. */
  #withoutWithdrawn(batch: Batch): Batch {
    const commits: PendingCommit[] = [];
    // The whole buffer is handed to another thread, so it must not come from Buffer's pool.
    const bytes = Buffer.allocUnsafeSlow(batch.bytes.byteLength);
    let from = 0;
    let to = 0;
    for (const pending of batch.commits) {
      if (pending.withdrawn) this.#leave(pending);
      else {
        commits.push(pending);
        bytes.set(batch.bytes.subarray(from, from + pending.bytes), to);
        to += pending.bytes;
      }
      from += pending.bytes;
    }
    return { bytes: bytes.subarray(0, to), commits };
  }

  #settle(
    commits: readonly PendingCommit[],
    outcome: Exclude<BatchOutcome, { readonly type: 'replied' }>,
  ): void {
    switch (outcome.type) {
      case 'applied':
        for (const [index, pending] of commits.entries()) {
          this.#leave(pending);
          if (outcome.applied[index] === 1) pending.settleBlindly();
          else this.#resend(pending);
        }
        return;
      case 'refused':
        for (const pending of commits) {
          this.#leave(pending);
          pending.settle(outcome.error);
        }
        return;
      case 'not_executed':
        for (const pending of commits) {
          this.#leave(pending);
          this.#resend(pending);
        }
        return;
      case 'unknown':
        for (const pending of commits) {
          this.#leave(pending);
          pending.giveUp(
            'writer_lost',
            'the writer thread died, and whether it applied the commit cannot be told; load the record',
          );
        }
        return;
    }
  }

  /** Once more, after everything that came meanwhile: no order was promised among commits in flight. */
  #resend(pending: PendingCommit): void {
    if (pending.answered || this.#abandoned) {
      pending.settle(notExecuted());
      return;
    }
    this.#writer.append(pending.writes, pending.options.now, pending.options.limits);
    this.#requests++;
    this.#bytes += pending.bytes;
    this.#open.push(pending);
  }

  #leave(pending: PendingCommit): void {
    this.#requests--;
    this.#bytes -= pending.bytes;
  }

  #signalIdle(): void {
    for (const resolve of this.#whenIdle) resolve();
    this.#whenIdle = [];
  }
}

/**
 * Once every promise that was settled has been heard. No timer and no message comes before that, so nothing else of the group
 * commit happens meanwhile.
 */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** An upper bound of the encoded size, for a tenth of the price of encoding. */
function mostBytes(writes: readonly RecordWrite[]): number {
  let bytes = REQUEST_HEADER_BYTES;
  for (const { record, mutations } of writes) {
    bytes += WRITE_HEADER_BYTES + record.applicationId.length + record.key.length;
    for (const mutation of mutations) {
      bytes += MUTATION_HEADER_BYTES + MUTATION_REST_BYTES;
      if ('name' in mutation) bytes += mutation.name.length;
      if (mutation.type === 'set') bytes += mutation.value.length;
    }
  }
  return bytes;
}

function notExecuted(): WafStateError {
  return new WafStateError('unavailable', 'the commit was not executed; nothing of it was applied; retry');
}

function queueFull(option: string, limit: number, actual: number, unit: string): WafStateError {
  return new WafStateError(
    'queue_full',
    `the write queue is full: ${actual} ${unit} would wait, ${option} allows ${limit}; retry later, send less, or raise ${option}`,
    { details: { option, limit, actual } },
  );
}
