import { type ByteString, compareBytes } from '../../contract/bytes.js';
import type { MemoryRecord } from './memory-record.js';

/** Below this many it does not matter how they are sorted. */
const FEW = 64;

/**
 * The records of one map in byte order of their keys, for scans. It exists from the first scan on; what comes and goes
 * between two scans is merged at the second, in O(n). Where that would be half of all, the order is no longer
 * `worthKeeping`: the map drops it and sorts anew at the next scan.
 */
export class KeyOrder {
  #sorted: MemoryRecord[];
  #added: MemoryRecord[] = [];
  #removed = 0;

  constructor(records: Iterable<MemoryRecord>) {
    this.#sorted = [...records].sort(byKey);
  }

  get worthKeeping(): boolean {
    return this.#added.length + this.#removed <= FEW + this.#sorted.length / 2;
  }

  add(record: MemoryRecord): void {
    this.#added.push(record);
  }

  /** REQUIRES: the record is no longer `live`. */
  remove(): void {
    this.#removed++;
  }

  /** The records whose key is at or after `from`, or with `exclusive` only after it. */
  *startingAt(from: ByteString, exclusive: boolean): Generator<MemoryRecord> {
    this.#settle();
    const sorted = this.#sorted;
    for (let index = firstAt(sorted, from, exclusive); index < sorted.length; index++) {
      yield sorted[index] as MemoryRecord;
    }
  }

  #settle(): void {
    if (this.#added.length === 0 && this.#removed === 0) return;
    const added = this.#added.filter((record) => record.live).sort(byKey);
    const merged: MemoryRecord[] = [];
    let next = 0;
    for (const record of this.#sorted) {
      if (!record.live) continue;
      for (let other = added[next]; other !== undefined && byKey(other, record) < 0; other = added[++next]) {
        merged.push(other);
      }
      merged.push(record);
    }
    for (; next < added.length; next++) merged.push(added[next] as MemoryRecord);
    this.#sorted = merged;
    this.#added = [];
    this.#removed = 0;
  }
}

function byKey(a: MemoryRecord, b: MemoryRecord): number {
  return compareBytes(a.name.key, b.name.key);
}

/** Binary search: the first index whose key is at or after `from`, or with `exclusive` after it. */
function firstAt(sorted: readonly MemoryRecord[], from: ByteString, exclusive: boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareBytes((sorted[middle] as MemoryRecord).name.key, from);
    if (order < 0 || (order === 0 && exclusive)) low = middle + 1;
    else high = middle;
  }
  return low;
}
