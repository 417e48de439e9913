import type { RecordWrite } from '../../src/contract/backend.js';
import type { Mutation } from '../../src/contract/mutation.js';
import type { StoredRecord } from '../../src/record/record.js';

/**
 * A record and a batch as SEMANTICS has them, in the plainest way: one object a variable, everything copied, every
 * step spelt out, nothing shared with `src/record`. What it lacks on purpose: speed and any error but its name.
 */

interface ModelVariable {
  value?: string;
  deadline?: bigint;
  clock?: bigint;
}

export interface ModelRecord {
  revision: number;
  created: bigint;
  updated: bigint;
  updates: number;
  timeout: bigint | undefined;
  variables: Map<string, ModelVariable>;
}

export interface ModelResult {
  readonly error?: 'conflict' | 'overflow' | 'too many variables' | 'record too large';
  readonly record?: ModelRecord | undefined;
  readonly existed?: boolean;
  /** Of the touched, in the order of first touch: value and deadline, or nothing. */
  readonly values?: [string, { value: string; deadline: bigint | undefined } | undefined][];
}

const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;

export function modelOf(stored: StoredRecord): ModelRecord {
  const variables = new Map<string, ModelVariable>();
  for (const [name, { value, deadline, clock }] of stored.variables) {
    variables.set(name, {
      ...(value !== undefined && { value }),
      ...(deadline !== undefined && { deadline }),
      ...(clock !== undefined && { clock }),
    });
  }
  const { created, updated, updateCount, timeout } = stored.facts;
  return { revision: stored.revision, created, updated, updates: updateCount, timeout, variables };
}

export function modelApply(
  before: ModelRecord | undefined,
  write: RecordWrite,
  now: bigint,
  limits: { variables: number; recordBytes: number },
  revision: number,
): ModelResult {
  const gone = before?.timeout !== undefined && least(before.updated + before.timeout) <= now;
  const there = gone ? undefined : before;
  if (write.expect === 'absent' && there !== undefined) return { error: 'conflict' };
  if (typeof write.expect === 'number' && before?.revision !== write.expect) return { error: 'conflict' };

  let record: ModelRecord | undefined =
    there === undefined ? fresh(write, now) : { ...there, variables: new Map(there.variables) };
  const touched: string[] = [];
  for (const mutation of write.mutations) {
    if (mutation.type === 'removeRecord') {
      record = undefined;
      continue;
    }
    record ??= fresh(write, now);
    if (mutation.type === 'timeout') {
      record.timeout = mutation.duration;
      continue;
    }
    if (!touched.includes(mutation.name)) touched.push(mutation.name);
    const error = step(record, mutation, now, limits.variables);
    if (error !== undefined) return { error };
  }
  if (record !== undefined) {
    if (bytesOf(record) > limits.recordBytes) {
      dropExpired(record, now);
      const grown = bytesOf(record) > (there === undefined ? 0 : bytesOf(there));
      if (bytesOf(record) > limits.recordBytes && grown) return { error: 'record too large' };
    }
    record.revision = revision;
    record.updated = record.updated > now ? record.updated : now;
    record.updates = Math.min(record.updates + 1, 2 ** 48 - 1);
  }
  return {
    record,
    existed: there !== undefined,
    values: touched.map((name) => {
      const held = record?.variables.get(name);
      const seen = held?.value !== undefined && !(held.deadline !== undefined && held.deadline <= now);
      return [name, seen ? { value: held.value as string, deadline: held.deadline } : undefined];
    }),
  };
}

function fresh(write: RecordWrite, now: bigint): ModelRecord {
  return {
    revision: 0,
    created: now,
    updated: now,
    updates: 0,
    timeout: write.timeout,
    variables: new Map(),
  };
}

function step(
  record: ModelRecord,
  mutation: Exclude<Mutation, { type: 'timeout' | 'removeRecord' }>,
  now: bigint,
  most: number,
): ModelResult['error'] {
  const stood = record.variables.has(mutation.name);
  let held: ModelVariable = { ...record.variables.get(mutation.name) };
  if (held.deadline !== undefined && held.deadline <= now) held = {};
  switch (mutation.type) {
    case 'remove':
      record.variables.delete(mutation.name);
      return undefined;
    case 'set':
      held.value = mutation.value;
      break;
    case 'add':
    case 'subtract': {
      let sum = number(held.value) + (mutation.type === 'add' ? mutation.delta : -mutation.delta);
      if (mutation.saturates) {
        if (sum < LEAST) sum = LEAST;
        if (sum > MOST) sum = MOST;
      }
      if (sum < LEAST || sum > MOST) return 'overflow';
      held.value = `${sum}`;
      break;
    }
    case 'expire':
      if (!(mutation.onlyIfNone && held.deadline !== undefined)) held.deadline = mutation.deadline;
      break;
    case 'deprecate':
      if (held.value !== undefined && held.clock !== undefined) {
        let passed = 0n;
        if (mutation.at > held.clock) passed = (mutation.at - held.clock) / mutation.period;
        const old = number(held.value);
        if (passed > 0n && old > 0n) {
          const left = old - passed * mutation.amount;
          held.value = left < 0n ? '0' : `${left}`;
        }
        held.clock += passed * mutation.period;
      }
      break;
  }
  if (held.value !== undefined) held.clock ??= now;
  if (held.value === undefined && held.deadline === undefined) {
    record.variables.delete(mutation.name);
    return undefined;
  }
  if (!stood && record.variables.size >= most) {
    dropExpired(record, now);
    if (record.variables.size >= most) return 'too many variables';
  }
  record.variables.set(mutation.name, held);
  return undefined;
}

function dropExpired(record: ModelRecord, now: bigint): void {
  for (const [name, held] of record.variables) {
    if (held.deadline !== undefined && held.deadline <= now) record.variables.delete(name);
  }
}

function bytesOf(record: ModelRecord): number {
  let bytes = 0;
  for (const [name, held] of record.variables) bytes += name.length + (held.value ?? '').length;
  return bytes;
}

/** Character by character, where the code under test has a pattern. */
function number(value: string | undefined): bigint {
  let rest = value ?? '';
  while (rest !== '' && '\t\n\v\f\r '.includes(rest.charAt(0))) rest = rest.slice(1);
  let sign = 1n;
  if (rest.startsWith('+') || rest.startsWith('-')) {
    if (rest.startsWith('-')) sign = -1n;
    rest = rest.slice(1);
  }
  let magnitude = 0n;
  for (const digit of rest) {
    if (digit < '0' || digit > '9') break;
    magnitude = magnitude * 10n + BigInt(digit);
  }
  const signed = sign * magnitude;
  return signed < LEAST || signed > MOST ? 0n : signed;
}

function least(time: bigint): bigint {
  return time > MOST ? MOST : time < LEAST ? LEAST : time;
}
