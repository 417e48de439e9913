import type { ByteString } from '../../contract/bytes.js';
import type { RecordFacts, Variable } from '../../contract/snapshot.js';
import type { RecordView } from '../apply.js';
import { compareRanges, equalRanges, hasUpperCase } from '../byte-ranges.js';
import { asBuffer } from '../byte-writer.js';
import { Corruption } from '../corruption.js';
import { isSpace, MAX_KEY_BYTES } from '../key.js';
import { Tag } from '../tag.js';
import { decimal, decimalLength, isAtMost, isCanonicalDecimal } from './integer.js';
import {
  At,
  CHECKSUM_BYTES,
  FLAG_TIMEOUT,
  HEADER_BYTES,
  MAGIC,
  SCHEMA_VERSION,
  VARIABLE_HEADER_BYTES,
  viewOf,
} from './layout.js';
import { xxh32 } from './xxh32.js';

/** Characters of the longest 64-bit integer, sign included. */
const MAX_DECIMAL = 20;

/**
 * A record in someone else's memory: checked byte by byte, its variables indexed by where they begin, and none
 * of them copied until it is asked for. One object serves one record after the other.
 */
export class RecordScan implements RecordView {
  bytes: Uint8Array = new Uint8Array(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  /** Where the record begins and its checksum stands; like all positions, in the buffer and not in `bytes`. */
  start = 0;
  end = 0;
  /** Where the application id begins; the key follows it. */
  names = 0;
  revision = 0;
  count = 0;
  /** At least `size`, and known without counting digits. */
  sizeBound = 0;
  #starts = new Uint32Array(64);

  /** Checks every byte. REQUIRES: nothing else here is used unless this gives `none`. */
  open(bytes: Uint8Array): Corruption {
    if (bytes.byteLength < HEADER_BYTES + CHECKSUM_BYTES) return Corruption.tooShort;
    const view = viewOf(bytes.buffer);
    const start = bytes.byteOffset;
    const end = start + bytes.byteLength - CHECKSUM_BYTES;
    this.bytes = bytes;
    this.view = view;
    this.start = start;
    this.end = end;
    if (view.getUint16(start + At.magic, true) !== MAGIC) return Corruption.magic;
    if (view.getUint8(start + At.version) !== SCHEMA_VERSION) return Corruption.version;
    if (xxh32(view, start, end - start) !== view.getUint32(end, true)) return Corruption.checksum;
    const corruption = this.#openHeader();
    return corruption === Corruption.none ? this.#openVariables() : corruption;
  }

  get space(): number {
    return this.view.getUint8(this.start + At.space);
  }

  get applicationIdLength(): number {
    return this.view.getUint8(this.start + At.applicationIdLength);
  }

  get keyLength(): number {
    return this.view.getUint16(this.start + At.keyLength, true);
  }

  get hasTimeout(): boolean {
    return (this.view.getUint8(this.start + At.flags) & FLAG_TIMEOUT) !== 0;
  }

  get facts(): RecordFacts {
    const { view, start } = this;
    return {
      created: view.getBigInt64(start + At.created, true),
      updated: view.getBigInt64(start + At.updated, true),
      updateCount:
        view.getUint32(start + At.updateCount, true) +
        view.getUint16(start + At.updateCount + 4, true) * 2 ** 32,
      timeout: this.hasTimeout ? view.getBigInt64(start + At.timeout, true) : undefined,
    };
  }

  get size(): number {
    let size = this.sizeBound;
    for (let i = 0; i < this.count; i++) {
      if ((this.tag(i) & Tag.kind) === Tag.integer) {
        size -= MAX_DECIMAL - decimalLength(this.view, this.valueStart(i));
      }
    }
    return size;
  }

  get(name: ByteString): Variable | undefined {
    const index = this.search(name);
    return index < 0 ? undefined : this.variable(index);
  }

  *expired(now: bigint): Iterable<readonly [ByteString, Variable]> {
    for (let i = 0; i < this.count; i++) {
      if (this.isExpired(i, now)) yield [this.name(i), this.variable(i)];
    }
  }

  /** Where the variable begins; of `count`, where the last one ends. */
  variableStart(index: number): number {
    return this.#starts[index] as number;
  }

  nameLength(index: number): number {
    return this.view.getUint16(this.variableStart(index), true);
  }

  tag(index: number): number {
    return this.view.getUint8(this.variableStart(index) + 2);
  }

  /** Where the deadline stands, if there is one. */
  deadlineStart(index: number): number {
    return this.variableStart(index) + VARIABLE_HEADER_BYTES + this.nameLength(index);
  }

  /** Where the integer, or the length of the bytes, stands. */
  valueStart(index: number): number {
    const tag = this.tag(index);
    return this.deadlineStart(index) + (tag & Tag.deadline ? 8 : 0) + (tag & Tag.clock ? 8 : 0);
  }

  isExpired(index: number, now: bigint): boolean {
    if ((this.tag(index) & Tag.deadline) === 0) return false;
    return this.view.getBigInt64(this.deadlineStart(index), true) <= now;
  }

  name(index: number): ByteString {
    const start = this.variableStart(index) + VARIABLE_HEADER_BYTES;
    return this.text(start, start + this.nameLength(index));
  }

  variable(index: number): Variable {
    const { view } = this;
    const tag = this.tag(index);
    let at = this.deadlineStart(index);
    const deadline = tag & Tag.deadline ? view.getBigInt64(at, true) : undefined;
    if (deadline !== undefined) at += 8;
    if ((tag & Tag.kind) === Tag.none) return { value: undefined, deadline, clock: undefined };
    const clock = view.getBigInt64(tag & Tag.clock ? at : this.start + At.created, true);
    if (tag & Tag.clock) at += 8;
    if ((tag & Tag.kind) === Tag.integer) return { value: decimal(view, at) as ByteString, deadline, clock };
    return { value: this.text(at + 4, at + 4 + view.getUint32(at, true)), deadline, clock };
  }

  text(from: number, to: number): ByteString {
    return asBuffer(this.bytes).toString('latin1', from - this.start, to - this.start) as ByteString;
  }

  /** The index of the variable, or the complement of the one it would stand before. */
  search(name: ByteString): number {
    let low = 0;
    let high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const start = this.variableStart(middle) + VARIABLE_HEADER_BYTES;
      const order = compareText(this.view, start, this.nameLength(middle), name);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return ~low;
  }

  /** The index of the variable whose name lies in `view`, or -1. Costs one comparison where it is `guess`. */
  find(view: DataView, start: number, length: number, guess: number): number {
    if (
      guess < this.count &&
      this.nameLength(guess) === length &&
      equalRanges(this.view, this.variableStart(guess) + VARIABLE_HEADER_BYTES, view, start, length)
    ) {
      return guess;
    }
    let low = 0;
    let high = this.count - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const name = this.variableStart(middle) + VARIABLE_HEADER_BYTES;
      const order = compareRanges(this.view, name, this.nameLength(middle), view, start, length);
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  #openHeader(): Corruption {
    const { view, start, end } = this;
    const flags = view.getUint8(start + At.flags);
    if ((flags & ~FLAG_TIMEOUT) !== 0) return Corruption.flags;
    if (!isSpace(this.space)) return Corruption.space;
    if (this.keyLength < 1 || this.keyLength > MAX_KEY_BYTES) return Corruption.keyLength;
    const high = view.getUint32(start + At.revision + 4, true);
    this.revision = high * 2 ** 32 + view.getUint32(start + At.revision, true);
    if (this.revision === 0 || this.revision > Number.MAX_SAFE_INTEGER) return Corruption.revision;
    if (
      view.getUint32(start + At.updateCount, true) === 0 &&
      view.getUint16(start + At.updateCount + 4, true) === 0
    ) {
      return Corruption.updateCount;
    }
    this.names = start + HEADER_BYTES;
    if (flags & FLAG_TIMEOUT) {
      if (this.names + 8 > end) return Corruption.truncated;
      const timeout = view.getInt32(start + At.timeout + 4, true);
      if (timeout < 0 || (timeout === 0 && view.getUint32(start + At.timeout, true) === 0)) {
        return Corruption.timeout;
      }
      this.names += 8;
    }
    return this.names + this.applicationIdLength + this.keyLength > end
      ? Corruption.truncated
      : Corruption.none;
  }

  #openVariables(): Corruption {
    const { view, start, end } = this;
    const count = view.getUint16(start + At.variableCount, true);
    if (count >= this.#starts.length) this.#starts = new Uint32Array(2 * count);
    const createdLow = view.getUint32(start + At.created, true);
    const createdHigh = view.getInt32(start + At.created + 4, true);
    let at = this.names + this.applicationIdLength + this.keyLength;
    let previous = 0;
    let previousLength = 0;
    let bound = 0;
    for (let i = 0; i < count; i++) {
      this.#starts[i] = at;
      if (at + 2 > end) return Corruption.truncated;
      const nameLength = view.getUint16(at, true);
      if (nameLength === 0) return Corruption.nameLength;
      if (at + VARIABLE_HEADER_BYTES > end) return Corruption.truncated;
      const tag = view.getUint8(at + 2);
      const kind = tag & Tag.kind;
      if (tag > Tag.all || kind === Tag.kind) return Corruption.tag;
      if (kind === Tag.none && tag !== Tag.deadline) return Corruption.valueless;
      const name = at + VARIABLE_HEADER_BYTES;
      at = name + nameLength;
      if (at > end) return Corruption.truncated;
      if (hasUpperCase(view, name, at)) return Corruption.nameCase;
      if (i > 0 && compareRanges(view, previous, previousLength, view, name, nameLength) >= 0) {
        return Corruption.nameOrder;
      }
      previous = name;
      previousLength = nameLength;
      bound += nameLength;
      if (tag & Tag.deadline) at += 8;
      if (tag & Tag.clock) {
        at += 8;
        if (at > end) return Corruption.truncated;
        if (view.getUint32(at - 8, true) === createdLow && view.getInt32(at - 4, true) === createdHigh) {
          return Corruption.clock;
        }
      }
      if (kind === Tag.integer) {
        at += 8;
        bound += MAX_DECIMAL;
      } else if (kind === Tag.bytes) {
        at += 4;
        if (at > end) return Corruption.truncated;
        const length = view.getUint32(at - 4, true);
        const value = at;
        at += length;
        if (at > end) return Corruption.truncated;
        if (isCanonicalDecimal(view, value, length)) return Corruption.integer;
        bound += length;
      }
      if (at > end) return Corruption.truncated;
    }
    this.#starts[count] = at;
    this.count = count;
    this.sizeBound = bound;
    return at === end ? Corruption.none : Corruption.trailing;
  }
}

/** Whether a record with these halves is timed out: `updated + timeout`, held at the bounds, is at or before now. */
export function isTimedOutAt(scan: RecordScan, nowHigh: number, nowLow: number): boolean {
  if (!scan.hasTimeout) return false;
  const { view, start } = scan;
  const low = view.getUint32(start + At.updated, true) + view.getUint32(start + At.timeout, true);
  const high =
    view.getInt32(start + At.updated + 4, true) +
    view.getInt32(start + At.timeout + 4, true) +
    (low >= 2 ** 32 ? 1 : 0);
  if (high > 0x7fff_ffff) return nowHigh === 0x7fff_ffff && nowLow === 0xffff_ffff;
  return isAtMost(high, low >>> 0, nowHigh, nowLow);
}

function compareText(view: DataView, start: number, length: number, text: ByteString): number {
  const shared = Math.min(length, text.length);
  for (let i = 0; i < shared; i++) {
    const difference = view.getUint8(start + i) - text.charCodeAt(i);
    if (difference !== 0) return difference;
  }
  return length - text.length;
}
