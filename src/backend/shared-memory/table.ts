import type { CleanupBudget, CleanupResult, CounterWrite, RecordWrite } from '../../contract/backend.js';
import type { Limits } from '../../contract/limits.js';
import type { RecordName } from '../../contract/space.js';
import { RequestWriter } from '../../record/request.js';
import { Slab } from '../../record/slab.js';
import type { Evictions } from './evictions.js';
import type { OpenedTable, SharedTableAddon, TableBound } from './native-addon.js';

/** A snapshot that somebody keeps, keeps as much; for less, one allocation would not do for a hundred answers. */
const SLAB_BYTES = 16 * 1024;

/**
 * One thread's handle on a table: requests and keys are written into a buffer that the addon knows, answers and records
 * come in slabs that it knows as well, so that a call carries four numbers.
 */
export class TableHandle {
  readonly #addon: SharedTableAddon;
  readonly #handle: number;
  readonly #writer = new RequestWriter();
  #input: Buffer;
  /** Has what the last call gave. */
  slab = new Slab(SLAB_BYTES);
  /** Whether the last commit evicted records: see `evictions`. */
  evicted = false;

  constructor(addon: SharedTableAddon, opened: OpenedTable) {
    this.#addon = addon;
    this.#handle = opened.handle;
    this.#input = this.#writer.storage;
    addon.sharedTableSetInput(this.#handle, this.#input);
    addon.sharedTableSetOutput(this.#handle, this.slab.bytes);
  }

  close(): void {
    this.#addon.sharedTableClose(this.#handle);
  }

  /** Where in the slab the answer is. */
  commit(writes: readonly RecordWrite[], now: bigint, limits: Limits): number {
    this.#writer.clear();
    const size = this.#send(this.#writer.append(writes, now, limits));
    return this.#take(size);
  }

  /** The same for one counter; the next call overwrites the answer. */
  count(count: CounterWrite, now: bigint, limits: Limits): number {
    this.#writer.clear();
    this.#send(this.#writer.appendCount(count, now, limits));
    return this.slab.at;
  }

  /** Where in the slab the bytes of the record are, without their checksum; -1: there is none. */
  load(record: RecordName): number {
    this.#writer.clear();
    const length = this.#writer.appendKey(record);
    this.#shareInput();
    for (;;) {
      const size = this.#addon.sharedTableLoad(this.#handle, length, this.slab.at);
      if (size === 0) return -1;
      if (size <= this.slab.room) return this.#take(size);
      this.#nextSlab(size);
    }
  }

  /** Of the last commit. */
  evictions(): Evictions {
    const [ended, seenOnce, leastRecentlyUsed, held] = this.#addon.sharedTableReport(this.#handle);
    return { ended, seenOnce, leastRecentlyUsed, held };
  }

  /** What the last commit met, where it was refused with `tableFull`. */
  boundMet(): TableBound {
    return this.#addon.sharedTableReport(this.#handle)[4];
  }

  cleanup(now: bigint, budget: CleanupBudget): CleanupResult {
    const [recordsExamined, recordsRemoved, variablesRemoved, wrapped] = this.#addon.sharedTableCleanUp(
      this.#handle,
      now,
      budget.records,
      budget.variables,
    );
    return { recordsExamined, recordsRemoved, variablesRemoved, wrapped: wrapped === 1 };
  }

  claimSweep(milliseconds: number): boolean {
    return this.#addon.sharedTableClaimSweep(this.#handle, milliseconds);
  }

  stats(): { records: number; bytes: number; refused: number; evicted: Evictions } {
    const [records, bytes, refused, ended, seenOnce, leastRecentlyUsed, held] = this.#addon.sharedTableStats(
      this.#handle,
    );
    return { records, bytes, refused, evicted: { ended, seenOnce, leastRecentlyUsed, held } };
  }

  beginScan(prefix: Uint8Array, after: Uint8Array, limit: number, now: bigint, hidden: boolean): object {
    return this.#addon.sharedTableBeginScan(this.#handle, prefix, after, limit, now, hidden);
  }

  /** `undefined` until the whole table was looked at. */
  goOnWithScan(
    scan: object,
    records: number,
  ): { readonly records: readonly Buffer[]; readonly more: boolean } | undefined {
    return this.#addon.sharedTableGoOnWithScan(scan, records);
  }

  /** The writer takes another buffer when it grows. */
  #shareInput(): void {
    const { storage } = this.#writer;
    if (storage === this.#input) return;
    this.#input = storage;
    this.#addon.sharedTableSetInput(this.#handle, storage);
  }

  /** The bytes of the answer, which stands where the slab is free. */
  #send(length: number): number {
    this.#shareInput();
    const answered = this.#addon.sharedTableCommit(this.#handle, length, this.slab.at);
    this.evicted = answered < 0;
    const size = Math.abs(answered);
    // The addon has kept what did not fit, and copies it to where the next slab begins.
    if (size > this.slab.room) this.#nextSlab(size);
    return size;
  }

  #take(size: number): number {
    const { at } = this.slab;
    this.slab.at = at + size;
    return at;
  }

  #nextSlab(size: number): void {
    this.slab = new Slab(Math.max(size, SLAB_BYTES));
    this.#addon.sharedTableSetOutput(this.#handle, this.slab.bytes);
  }
}
