import type { RecordWrite } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import type { Mutation } from '../contract/mutation.js';
import type { RecordLimits } from './apply.js';

/** The batch grammar of docs/format.md: the numbers of the operations. */
export const Operation = {
  set: 1,
  remove: 2,
  add: 3,
  subtract: 4,
  expire: 5,
  deprecate: 6,
  timeout: 7,
  removeRecord: 8,
} as const satisfies Record<Mutation['type'], number>;

/** How a write's expectation is spelt. */
export const Expect = { any: 0, absent: 1, revision: 2 } as const;

export const REQUEST_HEADER_BYTES = 20;
export const WRITE_HEADER_BYTES = 24;
export const MUTATION_HEADER_BYTES = 4;

/** Where a native copy of a string begins to be cheaper than a loop over its characters. */
const SHORT = 24;

/**
 * Writes requests one after the other into a buffer that grows: what the group commit of LMDB collects, and what the
 * shared table is called with.
 *
 * Nothing is checked here: names, values, counts and times are within the limits and the 64 bits because whoever
 * built the mutations saw to it. A request that is not is refused by the reader on the other side.
 */
export class RequestWriter {
  #bytes: Buffer;
  #view: DataView;
  #length = 0;
  #requests = 0;

  /** `capacity`: bytes to begin with. */
  constructor(capacity = 16 * 1024) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
    this.#view = viewOf(this.#bytes);
  }

  /** Bytes written since the start or the last `take` or `clear`. */
  get length(): number {
    return this.#length;
  }

  /** Requests in them. */
  get requests(): number {
    return this.#requests;
  }

  /** The bytes written, valid until the next call of any method. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Forgets what was written and keeps the buffer. */
  clear(): void {
    this.#length = 0;
    this.#requests = 0;
  }

  /**
   * Hands the bytes over, together with the whole ArrayBuffer below them (so that it can be transferred to a thread),
   * and goes on in `next`, a buffer that its owner no longer needs, or in a new one of the same size.
   */
  take(next?: ArrayBuffer): Buffer {
    const taken = this.bytes;
    this.#bytes = next === undefined ? Buffer.allocUnsafeSlow(this.#bytes.length) : Buffer.from(next);
    this.#view = viewOf(this.#bytes);
    this.clear();
    return taken;
  }

  /** Appends one commit and returns the bytes it takes. */
  append(writes: readonly RecordWrite[], now: bigint, limits: RecordLimits): number {
    const start = this.#length;
    this.#reserve(REQUEST_HEADER_BYTES);
    this.#view.setUint32(start + 4, limits.recordBytes, true);
    this.#view.setUint16(start + 8, limits.variables, true);
    this.#view.setUint16(start + 10, writes.length, true);
    this.#view.setBigInt64(start + 12, now, true);
    this.#length = start + REQUEST_HEADER_BYTES;
    for (let i = 0; i < writes.length; i++) this.#write(writes[i] as RecordWrite);
    const size = this.#length - start;
    this.#view.setUint32(start, size, true);
    this.#requests++;
    return size;
  }

  #write(write: RecordWrite): void {
    const { space, applicationId, key } = write.record;
    const { expect, timeout, mutations } = write;
    this.#reserve(WRITE_HEADER_BYTES + applicationId.length + key.length);
    const view = this.#view;
    const start = this.#length;
    const revision = typeof expect === 'number' ? expect : 0;
    view.setUint8(start, space);
    view.setUint8(start + 1, applicationId.length);
    view.setUint16(start + 2, key.length, true);
    view.setUint8(
      start + 4,
      expect === 'any' ? Expect.any : expect === 'absent' ? Expect.absent : Expect.revision,
    );
    view.setUint8(start + 5, timeout === undefined ? 0 : 1);
    view.setUint16(start + 6, mutations.length, true);
    view.setUint32(start + 8, revision >>> 0, true);
    view.setUint32(start + 12, Math.floor(revision / 2 ** 32), true);
    view.setBigInt64(start + 16, timeout ?? 0n, true);
    this.#length = start + WRITE_HEADER_BYTES;
    this.#string(applicationId);
    this.#string(key);
    for (let i = 0; i < mutations.length; i++) this.#mutation(mutations[i] as Mutation);
  }

  #mutation(mutation: Mutation): void {
    switch (mutation.type) {
      case 'set':
        this.#head(Operation.set, 0, mutation.name, 4 + mutation.value.length);
        this.#view.setUint32(this.#length, mutation.value.length, true);
        this.#length += 4;
        this.#string(mutation.value);
        break;
      case 'remove':
        this.#head(Operation.remove, 0, mutation.name, 0);
        break;
      case 'add':
        this.#head(Operation.add, 0, mutation.name, 8);
        this.#int64(mutation.delta);
        break;
      case 'subtract':
        this.#head(Operation.subtract, 0, mutation.name, 8);
        this.#int64(mutation.delta);
        break;
      case 'expire':
        this.#head(Operation.expire, mutation.onlyIfNone ? 1 : 0, mutation.name, 8);
        this.#int64(mutation.deadline);
        break;
      case 'deprecate':
        this.#head(Operation.deprecate, 0, mutation.name, 24);
        this.#int64(mutation.amount);
        this.#int64(mutation.period);
        this.#int64(mutation.at);
        break;
      case 'timeout':
        this.#head(Operation.timeout, 0, '' as ByteString, 8);
        this.#int64(mutation.duration ?? 0n);
        break;
      case 'removeRecord':
        this.#head(Operation.removeRecord, 0, '' as ByteString, 0);
        break;
    }
  }

  /** Makes room for the whole mutation, `rest` bytes after the name, and writes it as far as the name. */
  #head(operation: number, flags: number, name: ByteString, rest: number): void {
    this.#reserve(MUTATION_HEADER_BYTES + name.length + rest);
    this.#view.setUint8(this.#length, operation);
    this.#view.setUint8(this.#length + 1, flags);
    this.#view.setUint16(this.#length + 2, name.length, true);
    this.#length += MUTATION_HEADER_BYTES;
    this.#string(name);
  }

  #int64(value: bigint): void {
    this.#view.setBigInt64(this.#length, value, true);
    this.#length += 8;
  }

  #string(text: ByteString): void {
    const length = text.length;
    const start = this.#length;
    if (length > SHORT) {
      this.#bytes.write(text, start, 'latin1');
    } else {
      const bytes = this.#bytes;
      for (let i = 0; i < length; i++) bytes[start + i] = text.charCodeAt(i);
    }
    this.#length = start + length;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
