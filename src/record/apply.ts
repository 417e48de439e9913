import type { CommittedValue, RecordWrite } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import { saturatingAdd } from '../contract/clock.js';
import type { Limits } from '../contract/limits.js';
import type { RecordFacts, Variable } from '../contract/snapshot.js';
import { applyToVariable, isExpired, isVisible, OVERFLOW } from '../contract/variable.js';
import { NO_MUTATION, type Refusal, Status } from './status.js';

/**
 * "Applying a batch to a record" of docs/format.md on JavaScript structures: the memory engine and the TypeScript record
 * both go through it. Nothing is changed in place: the outcome is a plan that its caller publishes or drops, so
 * a commit of several records can apply all of them before it publishes the first.
 */

/** The update count stays here once it is reached: the record has 48 bits for it. */
export const MAX_UPDATE_COUNT = 2 ** 48 - 1;

/** What `applyWrite` needs to know of a record; who stores it as bytes reads a variable only when asked. */
export interface RecordView {
  readonly revision: number;
  readonly facts: RecordFacts;
  /** Variables, hidden ones included. */
  readonly count: number;
  /** Bytes of names and values as a reader sees them. */
  readonly size: number;
  get(name: ByteString): Variable | undefined;
  /** The expired variables, in any order. */
  expired(now: bigint): Iterable<readonly [ByteString, Variable]>;
}

/** The two limits that belong to a record; what is in a mutation was checked by whoever built it. */
export type RecordLimits = Pick<Limits, 'variables' | 'recordBytes'>;

/** A variable that the batch touched. */
export interface Touch {
  readonly name: ByteString;
  /** Index of the mutation that touched it first. */
  readonly mutation: number;
  /** As the batch leaves it; `undefined` = absent. */
  variable: Variable | undefined;
}

/** A batch that was applied and is not yet published. */
export interface Plan {
  readonly status: typeof Status.applied;
  /** Whether the record was there, not timed out, before the batch. */
  readonly existed: boolean;
  /** The record after it; `undefined` = removed. */
  readonly facts: RecordFacts | undefined;
  /** Whether what was stored stays, but for the changes below; else the record consists of the touched alone. */
  readonly keeps: boolean;
  /** Whether the stored variables that were expired, and not touched, are dropped. */
  readonly swept: boolean;
  readonly count: number;
  readonly size: number;
  /** By name, in the order of first touch. */
  readonly touched: ReadonlyMap<ByteString, Touch>;
}

/** Bytes of a variable as a reader sees it. An integer counts as its decimal. */
export function variableSize(name: ByteString, variable: Variable): number {
  return name.length + (variable.value === undefined ? 0 : variable.value.length);
}

/** Whether the record is over at `now`: everyone then takes it as absent. */
export function isTimedOut(facts: RecordFacts, now: bigint): boolean {
  return facts.timeout !== undefined && saturatingAdd(facts.updated, facts.timeout) <= now;
}

/**
 * Applies one write to the record that is current. `stored` is `undefined` where there is none. Never throws; a refusal
 * leaves no trace. Costs one map entry and one object a distinct name, and whatever the variables' values cost.
 */
export function applyWrite(
  stored: RecordView | undefined,
  write: Pick<RecordWrite, 'expect' | 'timeout' | 'mutations'>,
  now: bigint,
  limits: RecordLimits,
): Plan | Refusal {
  const current = stored !== undefined && isTimedOut(stored.facts, now) ? undefined : stored;
  if (!meets(write.expect, stored, current)) {
    return refuse(
      Status.conflict,
      NO_MUTATION,
      typeof write.expect === 'number' ? write.expect : 0,
      current?.revision ?? 0,
    );
  }
  return new Batch(current, write.timeout, now, limits).run(write);
}

/** The plan for a record whose bytes are damaged and that the batch removes before all else. */
export function applyToDamaged(
  write: Pick<RecordWrite, 'timeout' | 'mutations'>,
  now: bigint,
  limits: RecordLimits,
): Plan | Refusal {
  const outcome = new Batch(undefined, write.timeout, now, limits).run(write);
  return outcome.status === Status.applied ? { ...outcome, existed: true } : outcome;
}

/**
 * Carries a plan out on the variables of the record it was made for; where the plan does not keep them, whatever is in
 * `variables` goes. Not for a plan that removes the record.
 */
export function publish(plan: Plan, variables: Map<ByteString, Variable>, now: bigint): void {
  if (!plan.keeps) variables.clear();
  else if (plan.swept) {
    for (const [name, variable] of variables) if (isExpired(variable, now)) variables.delete(name);
  }
  for (const { name, variable } of plan.touched.values()) {
    if (variable === undefined) variables.delete(name);
    else variables.set(name, variable);
  }
}

/** The touched variables as a commit's result shows them. */
export function committedValues(plan: Plan, now: bigint): Map<ByteString, CommittedValue | undefined> {
  const values = new Map<ByteString, CommittedValue | undefined>();
  for (const { name, variable } of plan.touched.values()) {
    values.set(
      name,
      variable !== undefined && isVisible(variable, now)
        ? { value: variable.value as ByteString, deadline: variable.deadline }
        : undefined,
    );
  }
  return values;
}

function meets(
  expect: RecordWrite['expect'],
  stored: RecordView | undefined,
  current: RecordView | undefined,
): boolean {
  if (expect === 'any') return true;
  if (expect === 'absent') return current === undefined;
  return stored?.revision === expect;
}

function refuse(status: Refusal['status'], mutation: number, limit: number, actual: number): Refusal {
  return { status, write: 0, mutation, limit, actual };
}

/** The state of one application; the members are those of `Plan`, still changing. */
class Batch {
  readonly #existed: boolean;
  readonly #sizeBefore: number;
  readonly #newTimeout: bigint | undefined;
  readonly #now: bigint;
  readonly #limits: RecordLimits;
  readonly #touched = new Map<ByteString, Touch>();
  /** What is stored and still counts. */
  #base: RecordView | undefined;
  #swept = false;
  #removed = false;
  #created: bigint;
  /** Stored times never go back. */
  #updated: bigint;
  #updateCount: number;
  #timeout: bigint | undefined;
  #count: number;
  #size: number;

  constructor(
    current: RecordView | undefined,
    newTimeout: bigint | undefined,
    now: bigint,
    limits: RecordLimits,
  ) {
    this.#existed = current !== undefined;
    this.#newTimeout = newTimeout;
    this.#now = now;
    this.#limits = limits;
    this.#base = current;
    this.#created = current?.facts.created ?? now;
    this.#updated = current !== undefined && current.facts.updated > now ? current.facts.updated : now;
    this.#updateCount = current?.facts.updateCount ?? 0;
    this.#timeout = current === undefined ? newTimeout : current.facts.timeout;
    this.#count = current?.count ?? 0;
    this.#size = current?.size ?? 0;
    this.#sizeBefore = this.#size;
  }

  run(write: Pick<RecordWrite, 'mutations'>): Plan | Refusal {
    const { mutations } = write;
    for (let index = 0; index < mutations.length; index++) {
      const mutation = mutations[index] as (typeof mutations)[number];
      if (mutation.type === 'removeRecord') {
        this.#remove();
        continue;
      }
      this.#removed = false;
      if (mutation.type === 'timeout') {
        this.#timeout = mutation.duration;
        continue;
      }
      const touch = this.#touch(mutation.name, index);
      const before = touch.variable;
      const after = applyToVariable(before, mutation, this.#now);
      if (after === OVERFLOW) return refuse(Status.overflow, index, 0, 0);
      if (before === undefined && after !== undefined && this.#count >= this.#limits.variables) {
        this.#sweep();
        if (this.#count >= this.#limits.variables) {
          return refuse(Status.tooManyVariables, index, this.#limits.variables, this.#limits.variables + 1);
        }
      }
      this.#replace(touch, after);
    }
    if (!this.#removed && this.#size > this.#limits.recordBytes) {
      this.#sweep();
      if (this.#size > this.#limits.recordBytes && this.#size > this.#sizeBefore) {
        return refuse(Status.recordTooLarge, NO_MUTATION, this.#limits.recordBytes, this.#size);
      }
    }
    return this.#plan();
  }

  #touch(name: ByteString, mutation: number): Touch {
    const known = this.#touched.get(name);
    if (known !== undefined) return known;
    const stored = this.#base?.get(name);
    const gone = stored !== undefined && this.#swept && isExpired(stored, this.#now);
    const touch: Touch = { name, mutation, variable: gone ? undefined : stored };
    this.#touched.set(name, touch);
    return touch;
  }

  #replace(touch: Touch, after: Variable | undefined): void {
    if (touch.variable !== undefined) {
      this.#count--;
      this.#size -= variableSize(touch.name, touch.variable);
    }
    if (after !== undefined) {
      this.#count++;
      this.#size += variableSize(touch.name, after);
    }
    touch.variable = after;
  }

  /** The next mutation finds a new record here: step 3 of the format. */
  #remove(): void {
    for (const touch of this.#touched.values()) touch.variable = undefined;
    this.#base = undefined;
    this.#removed = true;
    this.#created = this.#now;
    this.#updated = this.#now;
    this.#updateCount = 0;
    this.#timeout = this.#newTimeout;
    this.#count = 0;
    this.#size = 0;
  }

  /** Drops what is expired, whether stored or made so by this very batch. */
  #sweep(): void {
    const now = this.#now;
    if (!this.#swept && this.#base !== undefined) {
      for (const [name, variable] of this.#base.expired(now)) {
        if (this.#touched.has(name)) continue;
        this.#count--;
        this.#size -= variableSize(name, variable);
      }
    }
    this.#swept = true;
    for (const touch of this.#touched.values()) {
      if (touch.variable !== undefined && isExpired(touch.variable, now)) this.#replace(touch, undefined);
    }
  }

  #plan(): Plan {
    const facts: RecordFacts = {
      created: this.#created,
      updated: this.#updated,
      updateCount: Math.min(this.#updateCount + 1, MAX_UPDATE_COUNT),
      timeout: this.#timeout,
    };
    return {
      status: Status.applied,
      existed: this.#existed,
      facts: this.#removed ? undefined : facts,
      keeps: this.#base !== undefined,
      swept: this.#swept,
      count: this.#count,
      size: this.#size,
      touched: this.#touched,
    };
  }
}
