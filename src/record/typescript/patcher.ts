import { Expect, MUTATION_HEADER_BYTES, Operation } from '../request.js';
import type { RequestReader } from '../request-reader.js';
import { Tag } from '../tag.js';
import { isAtMost } from './integer.js';
import { At, CHECKSUM_BYTES, VARIABLE_HEADER_BYTES, viewOf } from './layout.js';
import type { ReplyWriter } from './reply-writer.js';
import { isTimedOutAt, type RecordScan } from './scan.js';
import { xxh32 } from './xxh32.js';

/**
 * The hot path of counters: a batch that only adds to integers and moves deadlines, where both are there already,
 * changes no length. The record is copied, patched in place and signed anew; no object but the result is made.
 *
 * Rules touch the same variables in the same order, request after request, so each mutation is first compared with the
 * variable that the mutation at its place touched the last time, in whatever record that was.
 */
export class Patcher {
  /** By mutation: the variable it touched the last time. */
  #guesses = new Uint16Array(64);
  /** The distinct variables of the batch at hand, and the mutation that touched each first. */
  #touched = new Uint16Array(64);
  #first = new Uint16Array(64);
  /** By variable: its place in `touched`, if that says so too; anything else is left over from another batch. */
  #places = new Uint16Array(64);

  /**
   * Whatever else a batch asks for, `undefined`: `applyWrite` does it all, this only does some of it faster. REQUIRES:
   * `scan` is open on the record that the write names. Writes the result into `reply`.
   */
  patch(
    scan: RecordScan,
    request: RequestReader,
    index: number,
    revision: number,
    reply: ReplyWriter,
  ): Buffer | undefined {
    const header = request.writeStart(index);
    const from = request.view;
    const { nowHigh, nowLow } = request;
    if (
      scan.sizeBound > request.limits.recordBytes ||
      isTimedOutAt(scan, nowHigh, nowLow) ||
      !meets(scan, from, header)
    ) {
      return undefined;
    }
    const mutations = request.mutationCount(index);
    this.#reserve(Math.max(mutations, scan.count));

    const { bytes } = scan;
    const record = Buffer.allocUnsafe(bytes.byteLength);
    record.set(bytes);
    const view = viewOf(record.buffer);
    const start = record.byteOffset;
    // Positions of the scan are those of the old buffer; `shift` leads from them to the copy's.
    const shift = start - scan.start;
    let count = 0;
    let at = request.mutationsStart(index);
    for (let mutation = 0; mutation < mutations; mutation++) {
      const operation = from.getUint8(at);
      if (operation < Operation.add || operation > Operation.expire) return undefined;
      const name = at + MUTATION_HEADER_BYTES;
      const operands = name + from.getUint16(at + 2, true);
      const found = scan.find(from, name, operands - name, this.#guesses[mutation] as number);
      if (found < 0) return undefined;
      this.#guesses[mutation] = found;
      if (!change(view, scan.variableStart(found) + shift, from, at, operands, nowHigh, nowLow))
        return undefined;
      count = this.#touch(found, mutation, count);
      at = operands + 8;
    }

    sign(view, start, record.byteLength - CHECKSUM_BYTES, revision, nowHigh, nowLow);
    reply.beginResult(revision, true);
    for (let i = 0; i < count; i++) {
      const variable = scan.variableStart(this.#touched[i] as number) + shift;
      if (isExpired(view, variable, nowHigh, nowLow)) reply.hidden(this.#first[i] as number);
      else reply.variable(this.#first[i] as number, record, view, start, variable);
    }
    reply.endResult();
    return record;
  }

  #touch(variable: number, mutation: number, count: number): number {
    const place = this.#places[variable] as number;
    if (place < count && this.#touched[place] === variable) return count;
    this.#places[variable] = count;
    this.#touched[count] = variable;
    this.#first[count] = mutation;
    return count + 1;
  }

  #reserve(count: number): void {
    if (count <= this.#guesses.length) return;
    this.#guesses = new Uint16Array(2 * count);
    this.#touched = new Uint16Array(2 * count);
    this.#first = new Uint16Array(2 * count);
    this.#places = new Uint16Array(2 * count);
  }
}

/** Carries the mutation at `at` out on the variable at `variable`; false where that would change its length or fail. */
function change(
  view: DataView,
  variable: number,
  from: DataView,
  at: number,
  operands: number,
  nowHigh: number,
  nowLow: number,
): boolean {
  if (isExpired(view, variable, nowHigh, nowLow)) return false;
  const tag = view.getUint8(variable + 2);
  const deadline = variable + VARIABLE_HEADER_BYTES + view.getUint16(variable, true);
  const operation = from.getUint8(at);
  if (operation !== Operation.expire) {
    if ((tag & Tag.kind) !== Tag.integer) return false;
    const value = deadline + (tag & Tag.deadline ? 8 : 0) + (tag & Tag.clock ? 8 : 0);
    return addTo(view, value, from, operands, operation === Operation.add);
  }
  if ((tag & Tag.deadline) === 0) return false;
  const onlyIfNone = from.getUint8(at + 1) === 1;
  if (!onlyIfNone) {
    view.setUint32(deadline, from.getUint32(operands, true), true);
    view.setUint32(deadline + 4, from.getUint32(operands + 4, true), true);
  }
  return true;
}

/** Brings the header up to date, then the checksum, which stands after `checked` bytes. */
function sign(
  view: DataView,
  start: number,
  checked: number,
  revision: number,
  nowHigh: number,
  nowLow: number,
): void {
  view.setUint32(start + At.revision, revision >>> 0, true);
  view.setUint32(start + At.revision + 4, Math.floor(revision / 2 ** 32), true);
  const updated = start + At.updated;
  if (!isAtMost(nowHigh, nowLow, view.getInt32(updated + 4, true), view.getUint32(updated, true))) {
    view.setUint32(updated, nowLow, true);
    view.setInt32(updated + 4, nowHigh, true);
  }
  countUpdate(view, start + At.updateCount);
  view.setUint32(start + checked, xxh32(view, start, checked), true);
}

/** Whether the write's expectation holds for a record that is there. */
function meets(scan: RecordScan, view: DataView, header: number): boolean {
  const expect = view.getUint8(header + 4);
  if (expect === Expect.any) return true;
  const revision = view.getUint32(header + 8, true) + view.getUint32(header + 12, true) * 2 ** 32;
  return expect === Expect.revision && revision === scan.revision;
}

/** Whether the variable at `variable` has a deadline that is past. */
function isExpired(view: DataView, variable: number, nowHigh: number, nowLow: number): boolean {
  if ((view.getUint8(variable + 2) & Tag.deadline) === 0) return false;
  const deadline = variable + VARIABLE_HEADER_BYTES + view.getUint16(variable, true);
  return isAtMost(view.getInt32(deadline + 4, true), view.getUint32(deadline, true), nowHigh, nowLow);
}

/** Adds the operand to the integer at `at`, or subtracts it; false, and nothing is written, on overflow. */
function addTo(view: DataView, at: number, from: DataView, operand: number, add: boolean): boolean {
  const sign = add ? 1 : -1;
  const low = view.getUint32(at, true) + sign * from.getUint32(operand, true);
  const carry = Math.floor(low / 2 ** 32);
  const high = view.getInt32(at + 4, true) + sign * from.getInt32(operand + 4, true) + carry;
  if (high > 0x7fff_ffff || high < -0x8000_0000) return false;
  view.setUint32(at, low >>> 0, true);
  view.setInt32(at + 4, high, true);
  return true;
}

/** One more, held at 2^48-1. */
function countUpdate(view: DataView, at: number): void {
  const low = view.getUint32(at, true);
  const high = view.getUint16(at + 4, true);
  if (low < 0xffff_ffff) view.setUint32(at, low + 1, true);
  else if (high < 0xffff) {
    view.setUint32(at, 0, true);
    view.setUint16(at + 4, high + 1, true);
  }
}
