import type { Backend, CommitResult, RecordWrite } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import { SECOND } from '../../contract/clock.js';
import type { RecordName } from '../../contract/space.js';
import type { Addition, Room, Ticket } from '../change.js';
import { currentOf, ENTRIES, load, NAMESPACES } from '../entry.js';
import { MAX_PAGE } from '../input.js';
import { storeFull } from '../store-full.js';

const GATE = 'additions' as ByteString;

/**
 * Bounds the entries of a namespace that several processes may write to. Each commit that adds entries also changes one record, the
 * namespace's gate, on the condition that it is as it was when the entries were counted: so no two processes can add on one count.
 * Entries that were removed or expired since only make the count too large, and then they are counted again.
 *
 * Exact where every store of the namespace has a `max_size`. Adding is one commit after the other; counting reads all
 * entries of the namespace. Overwriting and deleting cost nothing.
 */
export class NamespaceRoom implements Room {
  maxSize: number;
  readonly #backend: Backend;
  readonly #namespace: ByteString;
  readonly #gate: RecordName;
  /** One addition at a time: two of one process would only conflict. */
  #turn: Promise<void> = Promise.resolve();
  /** Entries at most, as long as the gate has this revision. */
  #count = 0;
  #revision: number | undefined;
  /** While the gate is the same, there is no room before this time. */
  #fullUntil: bigint | undefined;

  constructor(backend: Backend, namespace: ByteString, maxSize: number) {
    this.#backend = backend;
    this.#namespace = namespace;
    this.#gate = { space: NAMESPACES, applicationId: namespace, key: GATE };
    this.maxSize = maxSize;
  }

  async admit(additions: readonly Addition[], now: bigint): Promise<Ticket> {
    const done = await this.#takeTurn();
    try {
      const { revision } = await load(this.#backend, this.#gate, now);
      await this.#reckon(revision, additions.length, now);
      return this.#ticket(revision, additions.length, done);
    } catch (error) {
      done();
      throw error;
    }
  }

  /** Resolves to what ends the turn. */
  async #takeTurn(): Promise<() => void> {
    const before = this.#turn;
    let end: () => void = () => undefined;
    this.#turn = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    return end;
  }

  freed(): void {
    this.#fullUntil = undefined;
  }

  /** Throws `store_full`. */
  async #reckon(revision: number, additions: number, now: bigint): Promise<void> {
    const isKnown = this.#revision === revision;
    if (isKnown && this.#count + additions <= this.maxSize) return;
    const isFull = isKnown && this.#fullUntil !== undefined && now < this.#fullUntil;
    if (!isFull) {
      this.#fullUntil = undefined;
      const { count, nextDeadline } = await this.#countEntries(now);
      this.#revision = revision;
      this.#count = count;
      if (count + additions <= this.maxSize) return;
      // What other processes delete is noticed within a second, so that a flood of new keys does not count all of them each time.
      const soon = now + SECOND;
      this.#fullUntil = nextDeadline !== undefined && nextDeadline < soon ? nextDeadline : soon;
    }
    throw storeFull(this.maxSize, this.#count + additions);
  }

  #ticket(revision: number, additions: number, done: () => void): Ticket {
    const write: RecordWrite = {
      record: this.#gate,
      expect: revision === 0 ? 'absent' : revision,
      mutations: [{ type: 'add', name: GATE, delta: BigInt(additions) }],
    };
    return {
      writes: [write],
      settle: (results) => {
        const result = results?.[0] as CommitResult | undefined;
        if (result !== undefined) {
          this.#revision = result.revision;
          this.#count += additions;
        }
        done();
      },
    };
  }

  async #countEntries(now: bigint): Promise<{ count: number; nextDeadline: bigint | undefined }> {
    let count = 0;
    let nextDeadline: bigint | undefined;
    const query = { now, space: ENTRIES, applicationId: this.#namespace, limit: MAX_PAGE };
    let page = await this.#backend.scan(query);
    for (;;) {
      for (const { snapshot } of page.entries) {
        const current = snapshot && currentOf(snapshot);
        // A damaged record takes its place until it is deleted.
        if (snapshot !== undefined && current === undefined) continue;
        count++;
        const deadline = current?.deadline;
        if (deadline !== undefined && (nextDeadline === undefined || deadline < nextDeadline))
          nextDeadline = deadline;
      }
      if (page.next === undefined) return { count, nextDeadline };
      page = await this.#backend.scan({ ...query, after: page.next });
    }
  }
}
