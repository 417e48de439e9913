import type { Expectation, RecordWrite } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import type { Mutation } from '../contract/mutation.js';
import type { RecordLimits } from './apply.js';
import { hasUpperCase } from './byte-ranges.js';
import { asBuffer } from './byte-writer.js';
import { isSpace, MAX_KEY_BYTES } from './key.js';
import {
  Expect,
  MUTATION_HEADER_BYTES,
  Operation,
  REQUEST_HEADER_BYTES,
  WRITE_HEADER_BYTES,
} from './request.js';

/**
 * Reads requests (docs/format.md, Batch): `read` checks one whole, before anything of it is done, and remembers only
 * where its writes stand. Mutations become objects only for those who ask. One object serves one request after
 * the other; positions are those of `bytes`.
 */
export class RequestReader {
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  /** The time of the request in two halves, the upper one signed. */
  nowHigh = 0;
  nowLow = 0;
  /** How many writes the request has. */
  writes = 0;
  #limits: RecordLimits = { variables: 0, recordBytes: 0 };
  #starts: number[] = [];

  /** The bytes that requests are then read from. They are not copied. */
  open(bytes: Uint8Array): void {
    this.bytes = asBuffer(bytes);
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Where the request at `start` ends. One whose size field is unsound takes all the rest, and no `read` accepts it.
   * REQUIRES: `start` is not the end.
   */
  endOf(start: number): number {
    const rest = this.bytes.length - start;
    if (rest < 4) return this.bytes.length;
    const size = this.view.getUint32(start, true);
    return size < REQUEST_HEADER_BYTES || size > rest ? this.bytes.length : start + size;
  }

  /** Whether the bytes from `start` to `end` are exactly one sound request, which the other members then tell of. */
  read(start: number, end: number): boolean {
    const { view } = this;
    if (end - start < REQUEST_HEADER_BYTES || view.getUint32(start, true) !== end - start) return false;
    const recordBytes = view.getUint32(start + 4, true);
    const variables = view.getUint16(start + 8, true);
    if (recordBytes !== this.#limits.recordBytes || variables !== this.#limits.variables) {
      this.#limits = { recordBytes, variables };
    }
    this.writes = view.getUint16(start + 10, true);
    this.nowLow = view.getUint32(start + 12, true);
    this.nowHigh = view.getInt32(start + 16, true);
    let at = start + REQUEST_HEADER_BYTES;
    for (let i = 0; i < this.writes; i++) {
      this.#starts[i] = at;
      at = this.#skipWrite(at, end);
      if (at < 0) return false;
    }
    return this.writes > 0 && at === end;
  }

  get now(): bigint {
    return (BigInt(this.nowHigh) << 32n) | BigInt(this.nowLow);
  }

  get limits(): RecordLimits {
    return this.#limits;
  }

  writeStart(index: number): number {
    return this.#starts[index] as number;
  }

  /** The record's key (docs/format.md, Key): a copy. */
  key(index: number): Buffer {
    const start = this.writeStart(index);
    const nameLength = this.nameLength(index);
    const key = Buffer.allocUnsafe(2 + nameLength);
    key[0] = this.view.getUint8(start);
    key[1] = this.view.getUint8(start + 1);
    this.bytes.copy(key, 2, start + WRITE_HEADER_BYTES, start + WRITE_HEADER_BYTES + nameLength);
    return key;
  }

  /** Bytes of application id and key together; they begin after the write's header. */
  nameLength(index: number): number {
    const start = this.writeStart(index);
    return this.view.getUint8(start + 1) + this.view.getUint16(start + 2, true);
  }

  mutationCount(index: number): number {
    return this.view.getUint16(this.writeStart(index) + 6, true);
  }

  /** Where the first mutation stands. */
  mutationsStart(index: number): number {
    return this.writeStart(index) + WRITE_HEADER_BYTES + this.nameLength(index);
  }

  /** A write as it was before it was written, but for its record, whose names are needed as bytes only. */
  operation(index: number): Omit<RecordWrite, 'record'> {
    const { view } = this;
    const start = this.writeStart(index);
    return {
      expect: this.#expectation(start),
      timeout: view.getUint8(start + 5) === 0 ? undefined : view.getBigInt64(start + 16, true),
      mutations: this.#mutations(index),
    };
  }

  #expectation(start: number): Expectation {
    switch (this.view.getUint8(start + 4)) {
      case Expect.any:
        return 'any';
      case Expect.absent:
        return 'absent';
      default:
        return this.view.getUint32(start + 8, true) + this.view.getUint32(start + 12, true) * 2 ** 32;
    }
  }

  #mutations(index: number): Mutation[] {
    const mutations: Mutation[] = [];
    let at = this.mutationsStart(index);
    for (let left = this.mutationCount(index); left > 0; left--) {
      const operands = at + MUTATION_HEADER_BYTES + this.view.getUint16(at + 2, true);
      mutations.push(this.#mutation(at, operands));
      at = operands + operandBytes(this.view, at, operands);
    }
    return mutations;
  }

  #mutation(at: number, operands: number): Mutation {
    const { view } = this;
    const name = this.#text(at + MUTATION_HEADER_BYTES, operands);
    switch (view.getUint8(at)) {
      case Operation.set:
        return {
          type: 'set',
          name,
          value: this.#text(operands + 4, operands + 4 + view.getUint32(operands, true)),
        };
      case Operation.remove:
        return { type: 'remove', name };
      case Operation.add:
        return { type: 'add', name, delta: view.getBigInt64(operands, true), saturates: hasFlag(view, at) };
      case Operation.subtract:
        return {
          type: 'subtract',
          name,
          delta: view.getBigInt64(operands, true),
          saturates: hasFlag(view, at),
        };
      case Operation.expire:
        return {
          type: 'expire',
          name,
          deadline: view.getBigInt64(operands, true),
          onlyIfNone: hasFlag(view, at),
        };
      case Operation.deprecate:
        return {
          type: 'deprecate',
          name,
          amount: view.getBigInt64(operands, true),
          period: view.getBigInt64(operands + 8, true),
          at: view.getBigInt64(operands + 16, true),
        };
      case Operation.timeout: {
        const duration = view.getBigInt64(operands, true);
        return { type: 'timeout', duration: duration === 0n ? undefined : duration };
      }
      default:
        return { type: 'removeRecord' };
    }
  }

  #text(from: number, to: number): ByteString {
    return (from === to ? '' : this.bytes.toString('latin1', from, to)) as ByteString;
  }

  /** Where the write ends, or -1: it breaks the grammar. */
  #skipWrite(start: number, end: number): number {
    const { view } = this;
    let at = start + WRITE_HEADER_BYTES;
    if (at > end || !isSpace(view.getUint8(start))) return -1;
    const keyLength = view.getUint16(start + 2, true);
    if (keyLength < 1 || keyLength > MAX_KEY_BYTES) return -1;
    const revision = view.getUint32(start + 8, true) + view.getUint32(start + 12, true) * 2 ** 32;
    const expect = view.getUint8(start + 4);
    if (expect > Expect.revision || revision > Number.MAX_SAFE_INTEGER) return -1;
    if ((revision !== 0) !== (expect === Expect.revision)) return -1;
    const flags = view.getUint8(start + 5);
    if (flags > 1 || (flags === 1 ? !isPositive(view, start + 16) : !isZero(view, start + 16))) return -1;
    at += view.getUint8(start + 1) + keyLength;
    for (let left = view.getUint16(start + 6, true); left > 0 && at >= 0 && at <= end; left--) {
      at = this.#skipMutation(at, end);
    }
    return at > end ? -1 : at;
  }

  /** Where the mutation ends, or -1. */
  #skipMutation(at: number, end: number): number {
    const { view } = this;
    if (at + MUTATION_HEADER_BYTES > end) return -1;
    const operation = view.getUint8(at);
    const flags = view.getUint8(at + 1);
    if (operation < Operation.set || operation > Operation.removeRecord) return -1;
    if (flags > (hasFlags(operation) ? 1 : 0)) return -1;
    const name = at + MUTATION_HEADER_BYTES;
    const operands = name + view.getUint16(at + 2, true);
    if (operands > end) return -1;
    if ((operands === name) !== operation >= Operation.timeout) return -1;
    if (hasUpperCase(view, name, operands)) return -1;
    if (operation === Operation.set && operands + 4 > end) return -1;
    const next = operands + operandBytes(view, at, operands);
    if (next > end) return -1;
    if (operation === Operation.deprecate && !(isPositive(view, operands) && isPositive(view, operands + 8)))
      return -1;
    if (operation === Operation.timeout && !(isPositive(view, operands) || isZero(view, operands))) return -1;
    return next;
  }
}

/** Bytes after the name. REQUIRES: of a set, that its length field is there. */
export function operandBytes(view: DataView, at: number, operands: number): number {
  switch (view.getUint8(at)) {
    case Operation.set:
      return 4 + view.getUint32(operands, true);
    case Operation.deprecate:
      return 24;
    case Operation.remove:
    case Operation.removeRecord:
      return 0;
    default:
      return 8;
  }
}

function isZero(view: DataView, at: number): boolean {
  return view.getUint32(at, true) === 0 && view.getUint32(at + 4, true) === 0;
}

/** Of a signed 64-bit integer. */
function isPositive(view: DataView, at: number): boolean {
  return view.getInt32(at + 4, true) >= 0 && !isZero(view, at);
}

function hasFlags(operation: number): boolean {
  return operation === Operation.expire || operation === Operation.add || operation === Operation.subtract;
}

/** Bit 0 of the mutation at `at`. */
function hasFlag(view: DataView, at: number): boolean {
  return view.getUint8(at + 1) === 1;
}
