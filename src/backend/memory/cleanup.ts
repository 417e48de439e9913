import type { CleanupBudget, CleanupResult } from '../../contract/backend.js';
import type { MemoryRecord } from './memory-record.js';
import type { Table } from './table.js';

/** What a pass does to the records that it looks at. */
export interface CleanupActions {
  /** The newest revision there is: a pass goes no further than what was born by its beginning. */
  lastRevision(): number;
  remove(record: MemoryRecord): void;
  /** The record has lost variables. */
  changed(record: MemoryRecord, costBefore: number): void;
  /** The record was looked at and stays. */
  kept(record: MemoryRecord, now: bigint): void;
}

/** Goes round and round over the table, a budget at a time. */
export class Cleanup {
  readonly #table: Table;
  readonly #actions: CleanupActions;
  #pass: Iterator<MemoryRecord> | undefined;
  /** Taken from the pass and not looked at yet, since the variables of the last budget did not reach. */
  #pending: MemoryRecord | undefined;

  constructor(table: Table, actions: CleanupActions) {
    this.#table = table;
    this.#actions = actions;
  }

  run(now: bigint, budget: CleanupBudget): CleanupResult {
    let recordsExamined = 0;
    let variablesExamined = 0;
    let recordsRemoved = 0;
    let variablesRemoved = 0;
    while (recordsExamined < budget.records) {
      const record = this.#next();
      if (record === undefined) return { recordsExamined, recordsRemoved, variablesRemoved, wrapped: true };
      if (recordsExamined > 0 && variablesExamined + record.count > budget.variables) {
        this.#pending = record;
        break;
      }
      recordsExamined++;
      variablesExamined += record.count;
      if (record.isTimedOut(now)) {
        this.#actions.remove(record);
        recordsRemoved++;
        continue;
      }
      const cost = record.cost;
      const removed = record.sweep(now);
      variablesRemoved += removed;
      if (record.cost !== cost) this.#actions.changed(record, cost);
      if (record.count === 0) {
        this.#actions.remove(record);
        recordsRemoved++;
      } else {
        this.#actions.kept(record, now);
      }
    }
    return { recordsExamined, recordsRemoved, variablesRemoved, wrapped: false };
  }

  /** `undefined` at the end of a pass, after which the next call begins another. */
  #next(): MemoryRecord | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending?.live === true) return pending;
    this.#pass ??= this.#table.pass(this.#actions.lastRevision());
    const next = this.#pass.next();
    if (next.done !== true) return next.value;
    this.#pass = undefined;
    return undefined;
  }
}
