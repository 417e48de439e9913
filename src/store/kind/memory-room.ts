import type { MemoryBackend } from '../../backend/memory/memory.js';
import type { RecordWrite } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import type { Addition, Room, Ticket } from '../change.js';
import { currentOf, REMOVAL, recordOf, STORE_LIMITS } from '../entry.js';
import { storeFull } from '../store-full.js';
import type { DeadlineQueue } from './deadline-queue.js';

const NOTHING: Ticket = { writes: [], settle: () => undefined };

/**
 * Bounds the entries of an engine that has no other writer. Where there is no room, as many expired entries go, in the very commit that
 * adds the new ones, so that an expired entry never counts, whenever it is swept. At once, since nothing may come between this
 * and the commit.
 */
export class MemoryRoom implements Room {
  maxSize: number;
  readonly #backend: MemoryBackend;
  readonly #namespace: ByteString;
  readonly #deadlines: DeadlineQueue;

  constructor(backend: MemoryBackend, namespace: ByteString, deadlines: DeadlineQueue, maxSize: number) {
    this.#backend = backend;
    this.#namespace = namespace;
    this.#deadlines = deadlines;
    this.maxSize = maxSize;
  }

  admit(additions: readonly Addition[], now: bigint): Ticket {
    // An expired entry that is not swept yet has its place already.
    const added = additions.filter(({ revision }) => revision === 0).length;
    const records = this.#backend.stats().records + added;
    if (records <= this.maxSize) return NOTHING;
    const writes = this.expired(now, records - this.maxSize, new Set(additions.map(({ key }) => key)));
    if (records - writes.length > this.maxSize) throw storeFull(this.maxSize, records - writes.length);
    return {
      writes,
      settle: (results) => {
        if (results !== undefined) this.forget(writes);
      },
    };
  }

  freed(): void {
    // The next admission counts anew in any case.
  }

  /** The writes that remove at most `most` expired entries, and none of `spared`. */
  expired(now: bigint, most: number, spared: ReadonlySet<ByteString>): RecordWrite[] {
    const writes: RecordWrite[] = [];
    const gone: ByteString[] = [];
    for (const key of this.#deadlines.due(now)) {
      if (writes.length === most) break;
      if (spared.has(key)) continue;
      const record = recordOf(this.#namespace, key);
      const snapshot = this.#backend.loadSync(record, now, STORE_LIMITS);
      // The engine itself has removed it, to make room for more bytes.
      if (snapshot.revision === 0) gone.push(key);
      // Else it was written a moment ago, which the queue is told once that commit has settled.
      else if (currentOf(snapshot) === undefined) {
        writes.push({ record, expect: snapshot.revision, mutations: [REMOVAL] });
      }
    }
    for (const key of gone) this.#deadlines.set(key, undefined);
    return writes;
  }

  /** The writes were made. */
  forget(writes: readonly RecordWrite[]): void {
    for (const { record } of writes) this.#deadlines.set(record.key, undefined);
  }
}
