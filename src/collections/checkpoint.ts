import type { ByteString } from '../contract/bytes.js';

/** What SESSIONID, USERID and RESOURCE read as: the last keys given. Replaced, never changed. */
export interface PublishedKeys {
  readonly session: string | undefined;
  readonly user: string | undefined;
  readonly resource: string | undefined;
}

/**
 * A point of a transaction to go back to. Opaque: made by `checkpoint()`, used by `rollback()`.
 *
 * Marks form a chain from older to newer, and the transaction holds only the newest: a mark that its caller has dropped is
 * garbage with all that it remembers, however many rules of a request make one each.
 */
export class Checkpoint {
  /** The transaction that made it. */
  readonly owner: object;
  /** Counts the flushes before it: what was sent is past undoing. */
  readonly epoch: number;
  /** Pending mutations at the time. */
  readonly pending: number;
  /** Bit n: space n was bound. */
  readonly mask: number;
  readonly keys: PublishedKeys;
  next: Checkpoint | undefined = undefined;
  /** False once a rollback went behind it. */
  live = true;
  #previous: Map<ByteString, ByteString | undefined> | undefined = undefined;

  constructor(owner: object, epoch: number, pending: number, mask: number, keys: PublishedKeys) {
    this.owner = owner;
    this.epoch = epoch;
    this.pending = pending;
    this.mask = mask;
    this.keys = keys;
  }

  /** Notes what a variable of TX was before its first change after this mark. */
  remember(name: ByteString, previous: ByteString | undefined): void {
    this.#previous ??= new Map();
    if (!this.#previous.has(name)) this.#previous.set(name, previous);
  }

  /** What TX was at this mark, in every variable changed since. Ends all later marks. */
  rewind(): ReadonlyMap<ByteString, ByteString | undefined> {
    const previous = this.#previous ?? new Map<ByteString, ByteString | undefined>();
    for (let mark = this.next; mark !== undefined; mark = mark.next) {
      mark.live = false;
      for (const [name, value] of mark.#previous ?? []) {
        if (!previous.has(name)) previous.set(name, value);
      }
    }
    this.next = undefined;
    this.#previous = undefined;
    return previous;
  }
}
