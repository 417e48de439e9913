import type { MemoryRecord } from './memory-record.js';

/** Records from the least to the most recently used, as a list that runs through the records themselves. */
export class Queue {
  oldest: MemoryRecord | undefined;
  #newest: MemoryRecord | undefined;

  /** REQUIRES: the record is in no queue. */
  append(record: MemoryRecord): void {
    record.queue = this;
    record.older = this.#newest;
    if (this.#newest === undefined) this.oldest = record;
    else this.#newest.newer = record;
    this.#newest = record;
  }

  /** REQUIRES: the record is in this queue. */
  remove(record: MemoryRecord): void {
    const { older, newer } = record;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    record.queue = undefined;
    record.older = undefined;
    record.newer = undefined;
  }
}
