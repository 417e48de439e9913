import type { CommitResult, CommittedValue, Counted, RecordWrite } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import type { WafStateError } from '../contract/errors.js';
import type { Mutation } from '../contract/mutation.js';
import { readValue } from './record-snapshot.js';
import { refusalError } from './refusal.js';
import type { Slab } from './slab.js';
import { MALFORMED, type Refusal, Status } from './status.js';
import { Tag } from './tag.js';

/** Bytes of the answer to a request that was refused. */
export const REFUSAL_BYTES = 28;
const ANSWER_HEADER_BYTES = 8;
const RESULT_HEADER_BYTES = 12;

/** The bytes of a reply, or of more than one. */
type Source = Pick<Slab, 'bytes' | 'view'>;

/**
 * Reads the answers of a reply (docs/format.md), one request after the other.
 *
 * Results read their values from the reply when they are first asked for them, which most never are: the reply
 * belongs to them from here on. Who wants to reuse its buffer hands in a copy.
 */
export class ReplyReader {
  readonly #source: Source;
  #offset = 0;

  constructor(reply: Uint8Array) {
    this.#source = {
      bytes: Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength),
      view: new DataView(reply.buffer, reply.byteOffset, reply.byteLength),
    };
  }

  /** Whether all answers were read. */
  get done(): boolean {
    return this.#offset >= this.#source.bytes.length;
  }

  /**
   * The next answer: one result for each write, or why the request was refused. REQUIRES: `writes` are those of the
   * request, and the reply is the engine's own (it is trusted).
   */
  next(writes: readonly RecordWrite[]): readonly CommitResult[] | WafStateError {
    // A request whose size is unsound ends its batch, and its answer stands for all after it.
    if (this.done) return refusalError(MALFORMED, writes);
    const refusal = this.nextRefusal();
    if (refusal !== undefined) return refusalError(refusal, writes);
    const start = this.#offset;
    this.#offset += this.#source.view.getUint32(start, true);
    return resultsAt(this.#source, start, writes);
  }

  /** The next answer if it is a refusal, which is then read; else `undefined`, and `next` reads the answer. */
  nextRefusal(): Refusal | undefined {
    const refusal = refusalAt(this.#source, this.#offset);
    if (refusal !== undefined) this.#offset += REFUSAL_BYTES;
    return refusal;
  }
}

/** The results of an answer that is no refusal. REQUIRES: as `ReplyReader.next`. */
export function resultsAt(source: Source, start: number, writes: readonly RecordWrite[]): CommitResult[] {
  const { view } = source;
  const results: CommitResult[] = [];
  let at = start + ANSWER_HEADER_BYTES;
  for (let index = 0; index < writes.length; index++) {
    results.push(new ReplyResult(source, at, (writes[index] as RecordWrite).mutations));
    // The last write's values end where the answer does.
    if (index + 1 === writes.length) break;
    const touched = touchedAt(view, at);
    at += RESULT_HEADER_BYTES;
    for (let i = 0; i < touched; i++) at += valueSize(view, at);
  }
  return results;
}

/** Why the answer at `start` is a refusal; `undefined` if it is none. */
export function refusalAt({ view }: Source, start: number): Refusal | undefined {
  const status = view.getUint8(start + 4) as Status;
  if (status === Status.applied) return undefined;
  return {
    status,
    write: view.getUint16(start + 6, true),
    mutation: view.getUint32(start + 8, true),
    limit: uintAt(view, start + 12),
    // LMDB's own codes are negative.
    actual:
      status === Status.engineError ? Number(view.getBigInt64(start + 20, true)) : uintAt(view, start + 20),
  };
}

/** The one counter of an answer to `RequestWriter.appendCount`; `undefined` where it is not visible. */
export function countedAt({ view }: Source, start: number): Counted | undefined {
  const at = start + ANSWER_HEADER_BYTES + RESULT_HEADER_BYTES;
  const tag = view.getUint8(at + 2);
  if (tag === Tag.none) return undefined;
  const hasDeadline = (tag & Tag.deadline) !== 0;
  return {
    value: view.getBigInt64(at + (hasDeadline ? 12 : 4), true),
    deadline: hasDeadline ? view.getBigInt64(at + 4, true) : undefined,
  };
}

function uintAt(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
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

/** What one write came to. Its values are read from the reply when they are first asked for. */
class ReplyResult implements CommitResult {
  readonly revision: number;
  readonly existed: boolean;
  readonly #source: Source;
  readonly #offset: number;
  readonly #mutations: readonly Mutation[];
  #values: ReadonlyMap<ByteString, CommittedValue | undefined> | undefined = undefined;

  constructor(source: Source, offset: number, mutations: readonly Mutation[]) {
    this.revision = uintAt(source.view, offset);
    this.existed = source.view.getUint8(offset + 8) === 1;
    this.#source = source;
    this.#offset = offset;
    this.#mutations = mutations;
  }

  get values(): ReadonlyMap<ByteString, CommittedValue | undefined> {
    this.#values ??= this.#read();
    return this.#values;
  }

  #read(): Map<ByteString, CommittedValue | undefined> {
    const map = new Map<ByteString, CommittedValue | undefined>();
    const { view } = this.#source;
    let at = this.#offset + RESULT_HEADER_BYTES;
    for (let left = touchedAt(view, this.#offset); left > 0; left--) {
      const mutation = this.#mutations[view.getUint16(at, true)] as Mutation & { readonly name: ByteString };
      map.set(mutation.name, this.#value(at));
      at += valueSize(view, at);
    }
    return map;
  }

  #value(at: number): CommittedValue | undefined {
    const { view } = this.#source;
    const tag = view.getUint8(at + 2);
    if (tag === Tag.none) return undefined;
    const deadline = tag & Tag.deadline ? view.getBigInt64(at + 4, true) : undefined;
    return {
      value: readValue(this.#source, at + (deadline === undefined ? 4 : 12), tag & Tag.kind),
      deadline,
    };
  }
}

/** How many variables the result at `offset` has. */
function touchedAt(view: DataView, offset: number): number {
  return view.getUint16(offset + 10, true);
}
