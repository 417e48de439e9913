import type { Expectation, RecordWrite } from '../contract/backend.js';
import type { Limits } from '../contract/limits.js';
import type { Mutation, VariableMutation } from '../contract/mutation.js';
import type { RecordName } from '../contract/space.js';

/**
 * The tiny obvious engine that random histories are compared with: plain objects, no cleverness, and on purpose none of the
 * code that the real engines share, so that a mistake there is not made here too.
 */

export interface ModelVariable {
  readonly value: string | undefined;
  readonly deadline: bigint | undefined;
  readonly clock: bigint | undefined;
}

export interface ModelRecord {
  readonly name: RecordName;
  /** As the engine under test told it: the model only checks that it grows. */
  revision: number;
  created: bigint;
  updated: bigint;
  updateCount: number;
  timeout: bigint | undefined;
  variables: Map<string, ModelVariable>;
}

/** What one write of a commit must have led to. */
export interface ModelResult {
  readonly existed: boolean;
  readonly removed: boolean;
  readonly values: Map<string, { value: string; deadline: bigint | undefined } | undefined>;
}

type Refused = 'conflict' | 'capacity_exceeded';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

export class Model {
  records = new Map<string, ModelRecord>();

  /** The record as everyone sees it, without what is hidden unless that is asked for. */
  load(name: RecordName, now: bigint, hidden: boolean): ModelRecord | undefined {
    const record = this.records.get(idOf(name));
    if (record === undefined || (!hidden && timedOut(record, now))) return undefined;
    const variables = [...record.variables]
      .filter(([, variable]) => hidden || visible(variable, now))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return { ...record, variables: new Map(variables) };
  }

  /** All writes or none. The caller then tells the revisions. */
  commit(writes: readonly RecordWrite[], now: bigint, limits: Limits): ModelResult[] | Refused {
    const after = new Map(this.records);
    const results: ModelResult[] = [];
    for (const write of writes) {
      const outcome = applyBatch(this.records.get(idOf(write.record)), write, now, limits);
      if (typeof outcome === 'string') return outcome;
      if (outcome.record === undefined) after.delete(idOf(write.record));
      else after.set(idOf(write.record), outcome.record);
      results.push(outcome.result);
    }
    this.records = after;
    return results;
  }

  /** A cleanup that has come to every record. Tells how many it removed, and which it changed. */
  cleanup(now: bigint): { removed: number; changed: ModelRecord[] } {
    let removed = 0;
    const changed: ModelRecord[] = [];
    for (const [id, record] of this.records) {
      const before = record.variables.size;
      if (!timedOut(record, now)) dropExpired(record, now);
      if (timedOut(record, now) || record.variables.size === 0) {
        this.records.delete(id);
        removed++;
      } else if (record.variables.size < before) {
        changed.push(record);
      }
    }
    return { removed, changed };
  }

  /** The names of what is there, in byte order. */
  scan(now: bigint, hidden: boolean): RecordName[] {
    return [...this.records.values()]
      .filter((record) => hidden || !timedOut(record, now))
      .map(({ name }) => name)
      .sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
  }
}

export function idOf(name: RecordName): string {
  return JSON.stringify([name.space, name.applicationId, name.key]);
}

function orderOf({ space, applicationId, key }: RecordName): string {
  return String.fromCharCode(space, applicationId.length) + applicationId + key;
}

function timedOut(record: ModelRecord, now: bigint): boolean {
  return record.timeout !== undefined && record.updated + record.timeout <= now;
}

function expired(variable: ModelVariable, now: bigint): boolean {
  return variable.deadline !== undefined && variable.deadline <= now;
}

function visible(variable: ModelVariable, now: bigint): boolean {
  return variable.value !== undefined && !expired(variable, now);
}

function dropExpired(record: ModelRecord, now: bigint): void {
  for (const [name, variable] of record.variables) if (expired(variable, now)) record.variables.delete(name);
}

function sizeOf(record: ModelRecord): number {
  let size = 0;
  for (const [name, { value }] of record.variables) size += name.length + (value ?? '').length;
  return size;
}

function begin(write: RecordWrite, now: bigint): ModelRecord {
  const { record: name, timeout } = write;
  return { name, revision: 0, created: now, updated: now, updateCount: 0, timeout, variables: new Map() };
}

function meets(expect: Expectation, stored: ModelRecord | undefined, live: boolean): boolean {
  if (expect === 'any') return true;
  if (expect === 'absent') return !live;
  return stored?.revision === expect;
}

function applyBatch(
  stored: ModelRecord | undefined,
  write: RecordWrite,
  now: bigint,
  limits: Limits,
): Refused | { record: ModelRecord | undefined; result: ModelResult } {
  const existed = stored !== undefined && !timedOut(stored, now);
  if (!meets(write.expect, stored, existed)) return 'conflict';
  let record: ModelRecord | undefined = existed
    ? { ...stored, variables: new Map(stored.variables) }
    : begin(write, now);
  const sizeBefore = existed ? sizeOf(stored) : 0;
  const touched = new Set<string>();
  for (const mutation of write.mutations) {
    if (mutation.type === 'removeRecord') {
      record = undefined;
      continue;
    }
    record ??= begin(write, now);
    if (mutation.type === 'timeout') {
      record.timeout = mutation.duration;
      continue;
    }
    touched.add(mutation.name);
    if (!applyStep(record, mutation, now, limits)) return 'capacity_exceeded';
  }
  if (record !== undefined) {
    if (sizeOf(record) > limits.recordBytes) dropExpired(record, now);
    if (sizeOf(record) > limits.recordBytes && sizeOf(record) > sizeBefore) return 'capacity_exceeded';
    if (record.updated < now) record.updated = now;
    record.updateCount++;
  }
  const values: ModelResult['values'] = new Map();
  for (const name of touched) {
    const { value, deadline } = record?.variables.get(name) ?? { value: undefined, deadline: undefined };
    const shown = value !== undefined && !(deadline !== undefined && deadline <= now);
    values.set(name, shown ? { value, deadline } : undefined);
  }
  return { record, result: { existed, removed: record === undefined, values } };
}

/** False where a limit or the range of integers is exceeded. */
function applyStep(record: ModelRecord, mutation: VariableMutation, now: bigint, limits: Limits): boolean {
  const held = record.variables.get(mutation.name);
  const current = held !== undefined && !expired(held, now) ? held : undefined;
  const next = step(current, mutation, now);
  if (next === 'overflow') return false;
  if (next === undefined) {
    record.variables.delete(mutation.name);
    return true;
  }
  if (held === undefined && record.variables.size >= limits.variables) {
    dropExpired(record, now);
    if (record.variables.size >= limits.variables) return false;
  }
  record.variables.set(mutation.name, next);
  return true;
}

function step(
  current: ModelVariable | undefined,
  mutation: VariableMutation,
  now: bigint,
): ModelVariable | undefined | 'overflow' {
  const deadline = current?.deadline;
  const clock = current?.clock ?? now;
  switch (mutation.type) {
    case 'set':
      return { value: mutation.value, deadline, clock };
    case 'remove':
      return undefined;
    case 'add':
    case 'subtract': {
      const sum = integerOf(current?.value) + (mutation.type === 'add' ? mutation.delta : -mutation.delta);
      if (sum <= MAX && sum >= MIN) return { value: String(sum), deadline, clock };
      if (mutation.saturates !== true) return 'overflow';
      return { value: String(sum > 0n ? MAX : MIN), deadline, clock };
    }
    case 'expire':
      if (mutation.onlyIfNone && deadline !== undefined) return current;
      return { value: current?.value, deadline: mutation.deadline, clock: current?.clock };
    case 'deprecate':
      return forgive(current, mutation);
  }
}

function forgive(
  current: ModelVariable | undefined,
  { amount, period, at }: Extract<Mutation, { type: 'deprecate' }>,
): ModelVariable | undefined {
  if (current?.clock === undefined || at < current.clock + period) return current;
  const periods = (at - current.clock) / period;
  const clock = current.clock + periods * period;
  const before = integerOf(current.value);
  if (before <= 0n) return { ...current, clock };
  const after = before - amount * periods;
  return { ...current, clock, value: after < 0n ? '0' : String(after) };
}

/** Character by character, as the rule is worded. */
function integerOf(text: string | undefined): bigint {
  if (text === undefined) return 0n;
  let at = 0;
  while (at < text.length && '\t\n\v\f\r '.includes(text.charAt(at))) at++;
  const negative = text[at] === '-';
  if (negative || text[at] === '+') at++;
  let magnitude = 0n;
  for (; at < text.length && text.charAt(at) >= '0' && text.charAt(at) <= '9'; at++) {
    magnitude = magnitude * 10n + BigInt(text.charAt(at));
  }
  const integer = negative ? -magnitude : magnitude;
  return integer > MAX || integer < MIN ? 0n : integer;
}
