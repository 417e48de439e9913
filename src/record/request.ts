import type { CounterWrite, Expectation, RecordWrite } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import type { Mutation } from '../contract/mutation.js';
import type { RecordName } from '../contract/space.js';
import type { RecordLimits } from './apply.js';
import { ByteWriter } from './byte-writer.js';

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

const NO_NAME = '' as ByteString;

/** A buffer that grew beyond this is given back. */
const KEPT_BYTES = 256 * 1024;
/** Batches that come one after the other are about alike. */
const HEADROOM = 1.25;

/**
 * Writes requests one after the other into a buffer that grows: what the group commit of LMDB collects, and what the
 * shared table is called with.
 *
 * Nothing is checked here: names, values, counts and times are within the limits and the 64 bits because whoever
 * built the mutations saw to it. A request that is not is refused by the reader on the other side.
 */
export class RequestWriter {
  #out: ByteWriter;
  #requests = 0;

  readonly #capacity: number;

  /** `capacity`: bytes to begin with. */
  constructor(capacity = 16 * 1024) {
    this.#capacity = capacity;
    this.#out = new ByteWriter(capacity);
  }

  /** Bytes written since the start or the last `take` or `clear`. */
  get length(): number {
    return this.#out.at;
  }

  /** Requests in them. */
  get requests(): number {
    return this.#requests;
  }

  /** The bytes written, valid until the next call of any method. */
  get bytes(): Buffer<ArrayBuffer> {
    return this.#out.bytes.subarray(0, this.#out.at);
  }

  /** The buffer that all is written to, whole; another one once it has grown. */
  get storage(): Buffer {
    return this.#out.bytes;
  }

  /** Forgets what was written and keeps the buffer, unless one large request has made it large for good. */
  clear(): void {
    if (this.#out.bytes.length > KEPT_BYTES) this.#out = new ByteWriter(this.#capacity);
    this.#out.at = 0;
    this.#requests = 0;
  }

  /**
   * Hands the bytes over, together with the whole ArrayBuffer below them (so that it can be transferred to a
   * thread), and goes on in a new one with room for as much: not for as much as ever, or one large request would make every batch
   * after it cost what it did.
   */
  take(): Buffer<ArrayBuffer> {
    const taken = this.bytes;
    this.#out = new ByteWriter(Math.max(this.#capacity, Math.ceil(taken.length * HEADROOM)));
    this.#requests = 0;
    return taken;
  }

  /** Appends one commit and returns the bytes it takes. Where it throws, nothing was appended. */
  append(writes: readonly RecordWrite[], now: bigint, limits: RecordLimits): number {
    const start = this.#out.at;
    try {
      this.#requestHead(writes.length, now, limits);
      for (let i = 0; i < writes.length; i++) {
        const { record, expect, timeout, mutations } = writes[i] as RecordWrite;
        this.#writeHead(record, expect, timeout, mutations.length);
        for (let j = 0; j < mutations.length; j++) this.#mutation(mutations[j] as Mutation);
      }
      return this.#finish(start);
    } catch (error) {
      // Half a request would take those beside it in the batch with it.
      this.#out.at = start;
      throw error;
    }
  }

  /**
   * Appends the commit of one counter: `add`, and where there is a deadline `expire` with onlyIfNone, under 'any'. The same
   * bytes as `append` with these two mutations, which need not exist.
   */
  appendCount(count: CounterWrite, now: bigint, limits: RecordLimits): number {
    const { record, name, delta, deadline, timeout } = count;
    const out = this.#out;
    const start = out.at;
    this.#requestHead(1, now, limits);
    this.#writeHead(record, 'any', timeout, deadline === undefined ? 1 : 2);
    this.#head(Operation.add, 0, name, 8);
    out.int64(delta);
    if (deadline !== undefined) {
      this.#head(Operation.expire, 1, name, 8);
      out.int64(deadline);
    }
    return this.#finish(start);
  }

  /** Appends a record's key (docs/format.md, Key), and returns the bytes it takes. */
  appendKey({ space, applicationId, key }: RecordName): number {
    const size = 2 + applicationId.length + key.length;
    const out = this.#out;
    out.reserve(size);
    out.view.setUint8(out.at, space);
    out.view.setUint8(out.at + 1, applicationId.length);
    out.at += 2;
    out.text(applicationId);
    out.text(key);
    return size;
  }

  #requestHead(writes: number, now: bigint, limits: RecordLimits): void {
    const out = this.#out;
    out.reserve(REQUEST_HEADER_BYTES);
    const { view, at } = out;
    view.setUint32(at + 4, limits.recordBytes, true);
    view.setUint16(at + 8, limits.variables, true);
    view.setUint16(at + 10, writes, true);
    view.setBigInt64(at + 12, now, true);
    out.at = at + REQUEST_HEADER_BYTES;
  }

  /** Ends the request that began at `start`, and returns its bytes. */
  #finish(start: number): number {
    const size = this.#out.at - start;
    this.#out.view.setUint32(start, size, true);
    this.#requests++;
    return size;
  }

  #writeHead(
    { space, applicationId, key }: RecordName,
    expect: Expectation,
    timeout: bigint | undefined,
    mutations: number,
  ): void {
    const out = this.#out;
    out.reserve(WRITE_HEADER_BYTES + applicationId.length + key.length);
    const { view, at } = out;
    view.setUint8(at, space);
    view.setUint8(at + 1, applicationId.length);
    view.setUint16(at + 2, key.length, true);
    view.setUint8(
      at + 4,
      expect === 'any' ? Expect.any : expect === 'absent' ? Expect.absent : Expect.revision,
    );
    view.setUint8(at + 5, timeout === undefined ? 0 : 1);
    view.setUint16(at + 6, mutations, true);
    out.uint64(at + 8, typeof expect === 'number' ? expect : 0);
    view.setBigInt64(at + 16, timeout ?? 0n, true);
    out.at = at + WRITE_HEADER_BYTES;
    out.text(applicationId);
    out.text(key);
  }

  #mutation(mutation: Mutation): void {
    switch (mutation.type) {
      case 'set':
        this.#head(Operation.set, 0, mutation.name, 4 + mutation.value.length);
        this.#out.view.setUint32(this.#out.at, mutation.value.length, true);
        this.#out.at += 4;
        this.#out.text(mutation.value);
        break;
      case 'remove':
        this.#head(Operation.remove, 0, mutation.name, 0);
        break;
      case 'add':
        this.#head(Operation.add, mutation.saturates === true ? 1 : 0, mutation.name, 8);
        this.#out.int64(mutation.delta);
        break;
      case 'subtract':
        this.#head(Operation.subtract, mutation.saturates === true ? 1 : 0, mutation.name, 8);
        this.#out.int64(mutation.delta);
        break;
      case 'expire':
        this.#head(Operation.expire, mutation.onlyIfNone ? 1 : 0, mutation.name, 8);
        this.#out.int64(mutation.deadline);
        break;
      case 'deprecate':
        this.#head(Operation.deprecate, 0, mutation.name, 24);
        this.#out.int64(mutation.amount);
        this.#out.int64(mutation.period);
        this.#out.int64(mutation.at);
        break;
      case 'timeout':
        this.#head(Operation.timeout, 0, NO_NAME, 8);
        this.#out.int64(mutation.duration ?? 0n);
        break;
      case 'removeRecord':
        this.#head(Operation.removeRecord, 0, NO_NAME, 0);
        break;
    }
  }

  /** Makes room for the whole mutation, `rest` bytes after the name, and writes it as far as the name. */
  #head(operation: number, flags: number, name: ByteString, rest: number): void {
    const out = this.#out;
    out.reserve(MUTATION_HEADER_BYTES + name.length + rest);
    const { view, at } = out;
    view.setUint8(at, operation);
    view.setUint8(at + 1, flags);
    view.setUint16(at + 2, name.length, true);
    out.at = at + MUTATION_HEADER_BYTES;
    out.text(name);
  }
}
