import type { Backend } from '../contract/backend.js';
import { type ByteString, decodeText } from '../contract/bytes.js';
import { INT64_MAX } from '../contract/clock.js';
import { type Limits, resolveLimits } from '../contract/limits.js';
import type { Mutation } from '../contract/mutation.js';
import type { Snapshot } from '../contract/snapshot.js';
import { FIRST_STORE_SPACE, type RecordName } from '../contract/space.js';
import { MAX_KEY_BYTES } from './input.js';
import { decodeValue, MAX_VALUE_BYTES, type StoreValue, VALUE_OVERHEAD } from './value.js';

/**
 * How an entry lies in an engine: a record of the first store space, whose application id is the store's namespace, with
 * one variable. Its deadline is the entry's, the record's revision the version. See docs/format.md, Entries of stores.
 */

/** The space of entries. */
export const ENTRIES = FIRST_STORE_SPACE;
/** The space of what stores keep about a namespace: see `NamespaceRoom`. */
export const NAMESPACES = FIRST_STORE_SPACE + 1;

/** The name of the one variable. */
export const VALUE = 'v' as ByteString;

/** How often a conditional change looks again after somebody else was faster. */
export const ATTEMPTS = 64;

/** The limits that an engine is given: those of keys and values are checked before, and named in `StoreInfo`. */
export const STORE_LIMITS: Limits = resolveLimits({
  keyBytes: MAX_KEY_BYTES,
  valueBytes: MAX_VALUE_BYTES + VALUE_OVERHEAD,
});

/** A key with all that is stored under it. */
export interface Entry {
  readonly key: string;
  readonly value: StoreValue;
  /** A decimal string, which compares for equality only. Every write of the key gives another, never one that was there before. */
  readonly version: string;
  /** Nanoseconds since the epoch on the store's clock; undefined = never. */
  readonly expiresAt: bigint | undefined;
}

/** An entry that is there, as the engine has it. */
export interface Current {
  readonly value: ByteString;
  readonly deadline: bigint | undefined;
  readonly revision: number;
}

export function recordOf(namespace: ByteString, key: ByteString): RecordName {
  return { space: ENTRIES, applicationId: namespace, key };
}

/** At once where the engine can, so that nothing comes between a look and the commit that rests on it. */
export function load(backend: Backend, name: RecordName, now: bigint): Snapshot | Promise<Snapshot> {
  return backend.loadSync === undefined
    ? backend.load(name, now, STORE_LIMITS)
    : backend.loadSync(name, now, STORE_LIMITS);
}

/** Undefined where there is no entry: no record, or one whose value is expired and not yet swept. */
export function currentOf({ revision, variables }: Snapshot): Current | undefined {
  const variable = variables.get(VALUE);
  if (variable?.value === undefined) return undefined;
  return { value: variable.value, deadline: variable.deadline, revision };
}

export function entryOf(key: ByteString, current: Current): Entry {
  return {
    key: decodeText(key),
    value: decodeValue(current.value),
    version: String(current.revision),
    expiresAt: shownDeadline(current.deadline),
  };
}

/** The end of 64-bit time is never. */
export function shownDeadline(deadline: bigint | undefined): bigint | undefined {
  return deadline === INT64_MAX ? undefined : deadline;
}

/** Value and deadline together, whatever was there before, even a damaged record. */
export function replacing(value: ByteString, deadline: bigint | undefined): readonly Mutation[] {
  const set: Mutation = { type: 'set', name: VALUE, value };
  return deadline === undefined ? [REMOVAL, set] : [REMOVAL, set, expiring(deadline)];
}

export function expiring(deadline: bigint, onlyIfNone = false): Mutation {
  return { type: 'expire', name: VALUE, deadline, onlyIfNone };
}

export const REMOVAL: Mutation = { type: 'removeRecord' };
