import type { MemoryRecord } from './memory-record.js';
import { Queue } from './queue.js';

/** How many of the oldest of each queue are looked at for one that is over, before a live one has to go. */
const LOOK = 8;

/**
 * Which record makes room for another: a record is in one of three queues, each from the least to the most recently used.
 * A flood of new names passes through the first and never reaches the others (the idea of 2Q: Johnson and Shasha,
 * 1994). Every step is O(1).
 *
 *     once    seen in one commit, and never read since
 *     again   read, or committed to again
 *     held    with a live long deadline, as a block is: the last to go
 */
export class Eviction {
  readonly #once = new Queue();
  readonly #again = new Queue();
  readonly #held = new Queue();
  /** In the order in which they make room. */
  readonly #queues: readonly Queue[] = [this.#once, this.#again, this.#held];

  /** A record that was just created or committed to. */
  committed(record: MemoryRecord, now: bigint): void {
    const known = record.queue !== undefined;
    record.queue?.remove(record);
    if (isHeld(record, now)) this.#held.append(record);
    else (known ? this.#again : this.#once).append(record);
  }

  /** A record that was just read. */
  loaded(record: MemoryRecord): void {
    const held = record.queue === this.#held;
    record.queue?.remove(record);
    (held ? this.#held : this.#again).append(record);
  }

  /** The one to make room, never one for which `spared` is true; undefined where there is no other. */
  choose(now: bigint, spared: ReadonlySet<MemoryRecord>): MemoryRecord | undefined {
    this.#release(now);
    for (const queue of this.#queues) {
      let record = queue.oldest;
      for (let looked = 0; record !== undefined && looked < LOOK; looked++, record = record.newer) {
        if (record.isOver(now) && !spared.has(record)) return record;
      }
    }
    for (const queue of this.#queues) {
      for (let record = queue.oldest; record !== undefined; record = record.newer) {
        if (!spared.has(record)) return record;
      }
    }
    return undefined;
  }

  /** Held records whose long deadline has come since are like any other again. */
  release(record: MemoryRecord, now: bigint): void {
    if (record.queue !== this.#held || isHeld(record, now)) return;
    this.#held.remove(record);
    this.#again.append(record);
  }

  #release(now: bigint): void {
    let record = this.#held.oldest;
    for (let looked = 0; record !== undefined && looked < LOOK; looked++) {
      const { newer } = record;
      this.release(record, now);
      record = newer;
    }
  }
}

function isHeld(record: MemoryRecord, now: bigint): boolean {
  return record.heldUntil !== undefined && record.heldUntil > now;
}
