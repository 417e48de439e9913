import { Expect, MUTATION_HEADER_BYTES, Operation } from '../request.js';
import { operandBytes, type RequestReader } from '../request-reader.js';
import { Tag } from '../tag.js';
import { isAtMost } from './integer.js';
import { At, CHECKSUM_BYTES, viewOf } from './layout.js';
import type { ReplyWriter } from './reply-writer.js';
import { isTimedOutAt, type RecordScan } from './scan.js';
import { xxh32 } from './xxh32.js';

/** Longer batches gain nothing here, and the list of touched variables is searched. */
const MAX_MUTATIONS = 16;

/**
 * The hot path of counters: a batch that only adds to integers and moves deadlines, where both are there already,
 * changes no length. The record is copied, patched in place and signed anew; no object but the result is made.
 *
 * Whatever else a batch asks for, `undefined`: `applyWrite` does it all, this only does some of it faster. REQUIRES:
 * `scan` is open on the record that the write names. Writes the result into `reply`.
 */
export function patch(
  scan: RecordScan,
  request: RequestReader,
  index: number,
  revision: number,
  reply: ReplyWriter,
): Buffer | undefined {
  const mutations = request.mutationCount(index);
  if (mutations > MAX_MUTATIONS || scan.sizeBound > request.limits.recordBytes) return undefined;
  const header = request.writeStart(index);
  const from = request.view;
  const { nowHigh, nowLow } = request;
  if (isTimedOutAt(scan, nowHigh, nowLow) || !meets(scan, from, header)) return undefined;

  const { view: source, start: base, bytes } = scan;
  const record = Buffer.allocUnsafe(bytes.byteLength);
  record.set(bytes);
  const view = viewOf(record.buffer);
  // Positions of the scan are those of the old buffer; `shift` leads from them to the copy's.
  const shift = record.byteOffset - base;
  let count = 0;
  let at = request.mutationsStart(index);
  for (let mutation = 0; mutation < mutations; mutation++) {
    const operation = from.getUint8(at);
    const name = at + MUTATION_HEADER_BYTES;
    const operands = name + from.getUint16(at + 2, true);
    if (operation < Operation.add || operation > Operation.expire) return undefined;
    const found = scan.find(from, name, operands - name);
    if (found < 0) return undefined;
    const tag = scan.tag(found);
    const deadline = scan.deadlineStart(found) + shift;
    if (tag & Tag.deadline && isPast(view, deadline, nowHigh, nowLow)) return undefined;
    if (operation === Operation.expire) {
      if ((tag & Tag.deadline) === 0) return undefined;
      if (from.getUint8(at + 1) === 0) {
        view.setUint32(deadline, from.getUint32(operands, true), true);
        view.setUint32(deadline + 4, from.getUint32(operands + 4, true), true);
      }
    } else {
      if ((tag & Tag.kind) !== Tag.integer) return undefined;
      if (!addTo(view, scan.valueStart(found) + shift, from, operands, operation === Operation.add))
        return undefined;
    }
    count = touch(found, mutation, count);
    at = operands + operandBytes(from, at, operands);
  }

  const start = record.byteOffset;
  view.setUint32(start + At.revision, revision >>> 0, true);
  view.setUint32(start + At.revision + 4, Math.floor(revision / 2 ** 32), true);
  if (
    !isAtMost(
      nowHigh,
      nowLow,
      source.getInt32(base + At.updated + 4, true),
      source.getUint32(base + At.updated, true),
    )
  ) {
    view.setUint32(start + At.updated, nowLow, true);
    view.setInt32(start + At.updated + 4, nowHigh, true);
  }
  countUpdate(view, start + At.updateCount);
  const checked = record.byteLength - CHECKSUM_BYTES;
  view.setUint32(start + checked, xxh32(view, start, checked), true);

  reply.beginResult(revision, true);
  for (let i = 0; i < count; i++) {
    const found = touchedVariables[i] as number;
    const deadline = scan.deadlineStart(found) + shift;
    if (scan.tag(found) & Tag.deadline && isPast(view, deadline, nowHigh, nowLow)) {
      reply.hidden(touchedFirst[i] as number);
    } else {
      reply.variable(touchedFirst[i] as number, record, view, start, scan.variableStart(found) + shift);
    }
  }
  reply.endResult();
  return record;
}

/** The distinct variables of the batch at hand, and the mutation that touched each first. */
const touchedVariables = new Uint16Array(MAX_MUTATIONS);
const touchedFirst = new Uint16Array(MAX_MUTATIONS);

function touch(variable: number, mutation: number, count: number): number {
  for (let i = 0; i < count; i++) if (touchedVariables[i] === variable) return count;
  touchedVariables[count] = variable;
  touchedFirst[count] = mutation;
  return count + 1;
}

/** Whether the write's expectation holds for a record that is there. */
function meets(scan: RecordScan, view: DataView, header: number): boolean {
  const expect = view.getUint8(header + 4);
  if (expect === Expect.any) return true;
  const revision = view.getUint32(header + 8, true) + view.getUint32(header + 12, true) * 2 ** 32;
  return expect === Expect.revision && revision === scan.revision;
}

function isPast(view: DataView, deadline: number, nowHigh: number, nowLow: number): boolean {
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
