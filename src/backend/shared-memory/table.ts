import type { CleanupBudget, CleanupResult, RecordWrite } from '../../contract/backend.js';
import type { Limits } from '../../contract/limits.js';
import type { RecordName } from '../../contract/space.js';
import { RequestWriter } from '../../record/request.js';
import type { Evictions } from './evictions.js';
import type { OpenedTable, SharedTableAddon, TableBound } from './native-addon.js';

const FIRST_OUTPUT_BYTES = 4096;

/**
 * One thread's handle on a table: requests and keys are written into a buffer that the addon knows, answers and records
 * are read from another, so that a call carries two numbers.
 */
export class TableHandle {
  readonly #addon: SharedTableAddon;
  readonly #handle: number;
  readonly #writer = new RequestWriter();
  #input: Buffer;
  #output = Buffer.allocUnsafeSlow(FIRST_OUTPUT_BYTES);

  constructor(addon: SharedTableAddon, opened: OpenedTable) {
    this.#addon = addon;
    this.#handle = opened.handle;
    this.#input = this.#writer.storage;
    addon.sharedTableSetInput(this.#handle, this.#input);
    addon.sharedTableSetOutput(this.#handle, this.#output);
  }

  close(): void {
    this.#addon.sharedTableClose(this.#handle);
  }

  /** The answer, which the next call overwrites, and whether records were evicted for it: see `evictions`. */
  commit(writes: readonly RecordWrite[], now: bigint, limits: Limits): { answer: Buffer; evicted: boolean } {
    this.#writer.clear();
    const length = this.#writer.append(writes, now, limits);
    this.#shareInput();
    const size = this.#addon.sharedTableCommit(this.#handle, length);
    return { answer: this.#outputOf(Math.abs(size)), evicted: size < 0 };
  }

  /** The bytes of the record, which the next call overwrites. */
  load(record: RecordName): Buffer | undefined {
    this.#writer.clear();
    const length = this.#writer.appendKey(record);
    this.#shareInput();
    const size = this.#addon.sharedTableLoad(this.#handle, length);
    return size === 0 ? undefined : this.#outputOf(size);
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

  #outputOf(size: number): Buffer {
    if (size > this.#output.length) {
      this.#output = Buffer.allocUnsafeSlow(Math.max(size, this.#output.length * 2));
      this.#addon.sharedTableSetOutput(this.#handle, this.#output);
    }
    return this.#output.subarray(0, size);
  }
}
