import { type ByteString, compareBytes, fromBytes, toBytes } from '../../contract/bytes.js';
import { SECOND } from '../../contract/clock.js';
import { ABSENT, type RecordFacts, type Snapshot, type Variable } from '../../contract/snapshot.js';
import type { RecordName } from '../../contract/space.js';
import { isExpired, isVisible } from '../../contract/variable.js';
import { isTimedOut, type Plan, publish, type RecordView, variableSize } from '../../record/apply.js';
import type { Queue } from './queue.js';

/** What a record and a variable cost beside their bytes, measured on Node 20 and rounded up. */
export const RECORD_OVERHEAD = 500;
export const VARIABLE_OVERHEAD = 150;

/** A deadline this far ahead is a decision, as a block for an hour, and no counter's window: it is evicted last. */
const LONG_DEADLINE = 300n * SECOND;

/** One record. Its name never changes; everything else does, by `publish` and `sweep` alone. */
export class MemoryRecord implements RecordView {
  readonly name: RecordName;
  /** The revision that it began with: records are in this order in their map. */
  readonly born: number;
  revision = 0;
  facts: RecordFacts;
  size = 0;
  /** False once it has left the table; what still refers to it then passes it over. */
  live = true;
  /** The latest deadline beyond `LONG_DEADLINE` that it was given. */
  heldUntil: bigint | undefined;
  /** Its place among the records that could make room; written by `Queue` alone. */
  queue: Queue | undefined;
  older: MemoryRecord | undefined;
  newer: MemoryRecord | undefined;

  #variables = new Map<ByteString, Variable>();
  /** Whether the variables are in byte order: sorting waits until someone reads them. */
  #ordered = true;

  constructor(name: RecordName, born: number, facts: RecordFacts) {
    const { space, applicationId, key } = name;
    this.name = { space, applicationId: ownCopy(applicationId), key: ownCopy(key) };
    this.born = born;
    this.facts = facts;
  }

  get count(): number {
    return this.#variables.size;
  }

  get(name: ByteString): Variable | undefined {
    return this.#variables.get(name);
  }

  *expired(now: bigint): Generator<readonly [ByteString, Variable]> {
    for (const entry of this.#variables) if (isExpired(entry[1], now)) yield entry;
  }

  /** What it counts against `maxBytes`. */
  get cost(): number {
    return costOf(this.name, this.size, this.#variables.size);
  }

  /** Carries out a plan that was made for this record and does not remove it. */
  publish(plan: Plan, facts: RecordFacts, revision: number, now: bigint): void {
    const fresh = !plan.keeps || plan.swept || this.#addsNames(plan);
    publish(plan, this.#variables, now);
    if (fresh) this.#ordered = this.#variables.size < 2;
    this.size = plan.size;
    this.facts = facts;
    this.revision = revision;
    if (!plan.keeps) this.heldUntil = undefined;
    for (const { name, variable } of plan.touched.values()) {
      if (variable === undefined) continue;
      if (variable.deadline !== undefined) this.#hold(variable.deadline, now);
      if (fresh && name.length >= MAY_BE_SLICE) this.#own(name, variable);
      else if (variable.value !== undefined && variable.value.length >= MAY_BE_SLICE) {
        this.#variables.set(name, { ...variable, value: ownCopy(variable.value) });
      }
    }
  }

  #addsNames(plan: Plan): boolean {
    for (const { name, variable } of plan.touched.values()) {
      if (variable !== undefined && !this.#variables.has(name)) return true;
    }
    return false;
  }

  #own(name: ByteString, variable: Variable): void {
    this.#variables.delete(name);
    const value = variable.value === undefined ? undefined : ownCopy(variable.value);
    this.#variables.set(ownCopy(name), { ...variable, value });
  }

  #hold(deadline: bigint, now: bigint): void {
    if (deadline - now <= LONG_DEADLINE) return;
    if (this.heldUntil === undefined || this.heldUntil < deadline) this.heldUntil = deadline;
  }

  /** Drops its expired variables and tells how many there were. */
  sweep(now: bigint): number {
    let removed = 0;
    for (const [name, variable] of this.#variables) {
      if (!isExpired(variable, now)) continue;
      this.#variables.delete(name);
      this.size -= variableSize(name, variable);
      removed++;
    }
    return removed;
  }

  isTimedOut(now: bigint): boolean {
    return isTimedOut(this.facts, now);
  }

  /** Whether nobody would miss it: it is timed out, or all it holds is expired. */
  isOver(now: bigint): boolean {
    if (this.isTimedOut(now)) return true;
    for (const variable of this.#variables.values()) if (!isExpired(variable, now)) return false;
    return true;
  }

  /** A copy, as `load` gives it. */
  snapshot(now: bigint, hidden: boolean): Snapshot {
    if (!hidden && this.isTimedOut(now)) return ABSENT;
    if (!this.#ordered) this.#order();
    const variables = new Map<ByteString, Variable>();
    for (const [name, variable] of this.#variables) {
      if (hidden || isVisible(variable, now)) variables.set(name, variable);
    }
    return { revision: this.revision, facts: this.facts, variables };
  }

  #order(): void {
    this.#variables = new Map([...this.#variables].sort((a, b) => compareBytes(a[0], b[0])));
    this.#ordered = true;
  }
}

/** V8 makes a substring from this length on as a view, which keeps alive all of the string that it was cut from. */
const MAY_BE_SLICE = 13;

/** So that a session id of 32 bytes does not hold on to 16 KiB of request headers for as long as its record lives. */
function ownCopy(text: ByteString): ByteString {
  return text.length < MAY_BE_SLICE ? text : fromBytes(toBytes(text));
}

export function costOf(name: RecordName, size: number, variables: number): number {
  return RECORD_OVERHEAD + name.key.length + size + variables * VARIABLE_OVERHEAD;
}
