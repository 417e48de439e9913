import type { CommitResult, CommittedValue, RecordWrite } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import type { WafStateError } from '../contract/errors.js';
import type { Mutation } from '../contract/mutation.js';
import { refusalError } from './refusal.js';
import { type Refusal, Status } from './status.js';
import { Tag } from './tag.js';

/** Bytes of the answer to a request that was refused. */
export const REFUSAL_BYTES = 28;
const ANSWER_HEADER_BYTES = 8;
const RESULT_HEADER_BYTES = 12;

/**
 * Reads the answers of a reply (docs/format.md), one request after the other.
 *
 * Results read their values from the reply when they are first asked for them, which most never are: the reply
 * belongs to them from here on. Who wants to reuse its buffer hands in a copy.
 */
export class ReplyReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #offset = 0;

  constructor(reply: Uint8Array) {
    this.#bytes = Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength);
    this.#view = new DataView(reply.buffer, reply.byteOffset, reply.byteLength);
  }

  /** Whether all answers were read. */
  get done(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  /**
   * The next answer: one result for each write, or why the request was refused. REQUIRES: `writes` are those of the
   * request, and the reply is the engine's own (it is trusted).
   */
  next(writes: readonly RecordWrite[]): readonly CommitResult[] | WafStateError {
    const refusal = this.nextRefusal();
    if (refusal !== undefined) return refusalError(refusal, writes);
    const start = this.#offset;
    this.#offset += this.#view.getUint32(start, true);
    const results: CommitResult[] = [];
    let at = start + ANSWER_HEADER_BYTES;
    for (const write of writes) {
      const touched = this.#view.getUint16(at + 10, true);
      results.push({
        revision: this.#uint(at),
        existed: this.#view.getUint8(at + 8) === 1,
        values: new CommittedValues(
          this.#bytes,
          this.#view,
          at + RESULT_HEADER_BYTES,
          touched,
          write.mutations,
        ),
      });
      at += RESULT_HEADER_BYTES;
      // The last write's values end where the answer does.
      if (results.length < writes.length) for (let i = 0; i < touched; i++) at += valueSize(this.#view, at);
    }
    return results;
  }

  /** The next answer if it is a refusal, which is then read; else `undefined`, and `next` reads the answer. */
  nextRefusal(): Refusal | undefined {
    const start = this.#offset;
    const status = this.#view.getUint8(start + 4) as Status;
    if (status === Status.applied) return undefined;
    this.#offset = start + REFUSAL_BYTES;
    return {
      status,
      write: this.#view.getUint16(start + 6, true),
      mutation: this.#view.getUint32(start + 8, true),
      limit: this.#uint(start + 12),
      // LMDB's own codes are negative.
      actual:
        status === Status.engineError
          ? Number(this.#view.getBigInt64(start + 20, true))
          : this.#uint(start + 20),
    };
  }

  #uint(at: number): number {
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * 2 ** 32;
  }
}

/** Bytes of one touched variable in a reply. */
function valueSize(view: DataView, at: number): number {
  const tag = view.getUint8(at + 2);
  const head = tag & Tag.deadline ? 12 : 4;
  switch (tag & Tag.kind) {
    case Tag.integer:
      return head + 8;
    case Tag.bytes:
      return head + 4 + view.getUint32(at + head, true);
    default:
      return head;
  }
}

/** The touched variables of one write: a map that is made from the reply when it is first read. */
class CommittedValues implements ReadonlyMap<ByteString, CommittedValue | undefined> {
  readonly size: number;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #offset: number;
  readonly #mutations: readonly Mutation[];
  #map: Map<ByteString, CommittedValue | undefined> | undefined;

  constructor(bytes: Buffer, view: DataView, offset: number, size: number, mutations: readonly Mutation[]) {
    this.#bytes = bytes;
    this.#view = view;
    this.#offset = offset;
    this.size = size;
    this.#mutations = mutations;
  }

  get(name: ByteString): CommittedValue | undefined {
    return this.#read().get(name);
  }

  has(name: ByteString): boolean {
    return this.#read().has(name);
  }

  keys(): MapIterator<ByteString> {
    return this.#read().keys();
  }

  values(): MapIterator<CommittedValue | undefined> {
    return this.#read().values();
  }

  entries(): MapIterator<[ByteString, CommittedValue | undefined]> {
    return this.#read().entries();
  }

  [Symbol.iterator](): MapIterator<[ByteString, CommittedValue | undefined]> {
    return this.#read().entries();
  }

  forEach(
    callback: (
      value: CommittedValue | undefined,
      name: ByteString,
      map: ReadonlyMap<ByteString, CommittedValue | undefined>,
    ) => void,
  ): void {
    for (const [name, value] of this.#read()) callback(value, name, this);
  }

  #read(): Map<ByteString, CommittedValue | undefined> {
    if (this.#map !== undefined) return this.#map;
    const map = new Map<ByteString, CommittedValue | undefined>();
    const view = this.#view;
    let at = this.#offset;
    for (let i = 0; i < this.size; i++) {
      const mutation = this.#mutations[view.getUint16(at, true)] as Mutation & { readonly name: ByteString };
      map.set(mutation.name, this.#value(at));
      at += valueSize(view, at);
    }
    this.#map = map;
    return map;
  }

  #value(at: number): CommittedValue | undefined {
    const view = this.#view;
    const tag = view.getUint8(at + 2);
    if (tag === Tag.none) return undefined;
    const deadline = tag & Tag.deadline ? view.getBigInt64(at + 4, true) : undefined;
    const start = at + (deadline === undefined ? 4 : 12);
    if ((tag & Tag.kind) === Tag.integer) {
      return { value: String(view.getBigInt64(start, true)) as ByteString, deadline };
    }
    const length = view.getUint32(start, true);
    return { value: this.#bytes.toString('latin1', start + 4, start + 4 + length) as ByteString, deadline };
  }
}
