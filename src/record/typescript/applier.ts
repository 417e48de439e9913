import { isExpired } from '../../contract/variable.js';
import { applyToDamaged, applyWrite, type Plan, type Touch } from '../apply.js';
import { equalRanges } from '../byte-ranges.js';
import { Corruption } from '../corruption.js';
import { Expect, Operation, WRITE_HEADER_BYTES } from '../request.js';
import type { RequestReader } from '../request-reader.js';
import { NO_MUTATION, type Refusal, Status } from '../status.js';
import { Patcher } from './patcher.js';
import { RecordWriter } from './record-writer.js';
import type { ReplyWriter } from './reply-writer.js';
import { RecordScan } from './scan.js';

/** Applies one write to a record's bytes; keeps its working memory from call to call. */
export class Applier {
  /** The new record of the last write that was applied; `undefined` = removed. */
  record: Buffer | undefined;
  readonly #scan = new RecordScan();
  readonly #patcher = new Patcher();
  readonly #writer = new RecordWriter();
  /** Where the touched variables begin in the new record, by the mutation that touched each first; 0 = nowhere. */
  readonly #places: number[] = [];

  /**
   * Sets `record` and appends the result to `reply`, or returns why not. REQUIRES: `request` was read, an answer of
   * `reply` is begun, `revision` is unused so far. `existing` is not kept.
   */
  apply(
    existing: Uint8Array | undefined,
    request: RequestReader,
    index: number,
    revision: number,
    reply: ReplyWriter,
  ): Refusal | undefined {
    const corruption = existing === undefined ? Corruption.none : this.#open(existing, request, index);
    const damaged = corruption !== Corruption.none;
    if (damaged && !removesFirst(request, index)) {
      return { status: Status.corrupt, write: index, mutation: NO_MUTATION, limit: 0, actual: corruption };
    }
    const usedUp = revision > Number.MAX_SAFE_INTEGER;
    if (existing !== undefined && !damaged && !usedUp) {
      this.record = this.#patcher.patch(this.#scan, request, index, revision, reply);
      if (this.record !== undefined) return undefined;
    }
    const write = request.operation(index);
    const outcome = damaged
      ? applyToDamaged(write, request.now, request.limits)
      : applyWrite(existing === undefined ? undefined : this.#scan, write, request.now, request.limits);
    if (outcome.status !== Status.applied) return { ...outcome, write: index };
    if (usedUp && outcome.facts !== undefined) {
      return {
        status: Status.revisionsUsedUp,
        write: index,
        mutation: NO_MUTATION,
        limit: Number.MAX_SAFE_INTEGER,
        actual: 0,
      };
    }
    this.record = this.#encode(outcome, request, index, revision);
    this.#answer(outcome, request.now, revision, reply);
    return undefined;
  }

  #open(existing: Uint8Array, request: RequestReader, index: number): Corruption {
    const corruption = this.#scan.open(existing);
    if (corruption !== Corruption.none) return corruption;
    const scan = this.#scan;
    const start = request.writeStart(index);
    const length = request.nameLength(index);
    const same =
      request.view.getUint8(start) === scan.space &&
      request.view.getUint8(start + 1) === scan.applicationIdLength &&
      length === scan.applicationIdLength + scan.keyLength &&
      equalRanges(scan.view, scan.names, request.view, start + WRITE_HEADER_BYTES, length);
    return same ? Corruption.none : Corruption.otherName;
  }

  #encode(plan: Plan, request: RequestReader, index: number, revision: number): Buffer | undefined {
    if (plan.facts === undefined) return undefined;
    const writer = this.#writer;
    const start = request.writeStart(index);
    const applicationIdLength = request.view.getUint8(start + 1);
    const keyLength = request.nameLength(index) - applicationIdLength;
    writer.begin(
      request.view.getUint8(start),
      applicationIdLength,
      keyLength,
      revision,
      plan.facts,
      plan.count,
    );
    writer.raw(request.bytes.subarray(start + WRITE_HEADER_BYTES, request.mutationsStart(index)));
    const touched = [...plan.touched.values()];
    if (touched.length > 1) touched.sort((a, b) => (a.name < b.name ? -1 : 1));
    let next = 0;
    for (const touch of touched) {
      if (plan.keeps) next = this.#carryUntil(touch, next, plan.swept, request.now);
      this.#places[touch.mutation] =
        touch.variable === undefined ? 0 : writer.variable(touch.name, touch.variable);
    }
    if (plan.keeps) this.#carry(next, this.#scan.count, plan.swept, request.now);
    return writer.finish();
  }

  /** Copies the stored variables before the touched one; returns the first after it. */
  #carryUntil(touch: Touch, from: number, swept: boolean, now: bigint): number {
    const found = this.#scan.search(touch.name);
    const to = found < 0 ? ~found : found;
    this.#carry(from, to, swept, now);
    return found < 0 ? to : to + 1;
  }

  #carry(from: number, to: number, swept: boolean, now: bigint): void {
    const scan = this.#scan;
    if (!swept) {
      if (from < to) this.#copy(from, to);
      return;
    }
    for (let i = from; i < to; i++) if (!scan.isExpired(i, now)) this.#copy(i, i + 1);
  }

  #copy(from: number, to: number): void {
    const { bytes, start } = this.#scan;
    this.#writer.raw(
      bytes.subarray(this.#scan.variableStart(from) - start, this.#scan.variableStart(to) - start),
    );
  }

  #answer(plan: Plan, now: bigint, revision: number, reply: ReplyWriter): void {
    const { bytes, view } = this.#writer.out;
    reply.beginResult(plan.facts === undefined ? 0 : revision, plan.existed);
    for (const { mutation, variable } of plan.touched.values()) {
      if (variable === undefined || isExpired(variable, now)) reply.hidden(mutation);
      else reply.variable(mutation, bytes, view, 0, this.#places[mutation] as number);
    }
    reply.endResult();
  }
}

/** Whether the write may take a corrupt record away: whatever it is, then its first mutation removes it. */
function removesFirst(request: RequestReader, index: number): boolean {
  return (
    request.view.getUint8(request.writeStart(index) + 4) === Expect.any &&
    request.mutationCount(index) > 0 &&
    request.view.getUint8(request.mutationsStart(index)) === Operation.removeRecord
  );
}
