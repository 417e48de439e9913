import type { ByteString } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';
import type { Mutation } from '../contract/mutation.js';
import { booleanOption, refuseUnknownOptions } from '../contract/options.js';
import type { Decision, Step } from './change.js';
import {
  type Current,
  type Entry,
  entryOf,
  expiring,
  REMOVAL,
  replacing,
  shownDeadline,
  VALUE,
} from './entry.js';
import { invalid, toDeadline, toDelta, toKey, toVersion } from './input.js';
import { encodeValue, isInteger, type StoreValue } from './value.js';

/** What each operation that changes an entry does to it, as steps that `change` can take together. */

export interface SetOptions {
  /** Seconds until the entry is gone, fractions allowed; 0 or undefined = never. */
  readonly ttl?: number | undefined;
}

export interface PutOptions extends SetOptions {
  /** Only where the key is absent; else `already_exists`. Not together with `ifVersion`. */
  readonly onlyIfAbsent?: boolean | undefined;
  /** Only where the entry has this version; else `conflict`, or `not_found` where there is none. */
  readonly ifVersion?: string | number | bigint | undefined;
}

export interface StoreIncrementOptions extends SetOptions {
  /** What is added; may be negative. A safe integer, or a bigint within signed 64 bits. Default 1. */
  readonly by?: number | bigint | undefined;
  /**
   * Seconds until the counter begins anew, from the first increment on that finds it without a deadline: later ones do not move it.
   */
  readonly ttl?: number | undefined;
}

/** A counter right after an increment: no other increment got the same. */
export interface Counter {
  readonly value: bigint;
  readonly version: string;
  /** Nanoseconds since the epoch on the store's clock; undefined = never. */
  readonly expiresAt: bigint | undefined;
}

/** One step of a batch. */
export type Operation =
  | ({ readonly type: 'put'; readonly key: string; readonly value: StoreValue } & PutOptions)
  | {
      readonly type: 'delete';
      readonly key: string;
      readonly ifVersion?: string | number | bigint | undefined;
    }
  | ({ readonly type: 'increment'; readonly key: string } & StoreIncrementOptions);

/** What became of it: the entry, whether there was one to delete, or the counter. */
export type OperationResult = Entry | boolean | Counter;

export const PUT_OPTIONS = ['ttl', 'onlyIfAbsent', 'ifVersion'];
export const INCREMENT_OPTIONS = ['by', 'ttl'];
const OPERATION_FIELDS = {
  put: ['type', 'key', 'value', ...PUT_OPTIONS],
  delete: ['type', 'key', 'ifVersion'],
  increment: ['type', 'key', ...INCREMENT_OPTIONS],
};

/** Throws what is wrong with one operation of a batch. */
export function stepOf(operation: Operation): Step<OperationResult> {
  const type = operation?.type;
  if (!Object.hasOwn(OPERATION_FIELDS, String(type))) {
    throw invalid('type', 'the type of an operation in a batch is put, delete or increment');
  }
  refuseUnknownOptions(`${type} in a batch`, operation, OPERATION_FIELDS[type]);
  const key = toKey(operation.key);
  if (operation.type === 'put') {
    return putStep<OperationResult>(key, operation.value, operation, (put) => entryOf(key, put));
  }
  if (operation.type === 'increment') return incrementStep(key, operation);
  return deleteStep(key, operation.ifVersion, requireVersion);
}

/** `show` makes the caller's result of the entry that was put. */
export function putStep<T>(
  key: ByteString,
  value: unknown,
  options: PutOptions,
  show: (put: Current) => T,
): Step<T> {
  const bytes = encodeValue(value);
  const onlyIfAbsent = booleanOption('put', 'onlyIfAbsent', options.onlyIfAbsent, false);
  const version = options.ifVersion === undefined ? undefined : toVersion(options.ifVersion);
  checkTtl(options.ttl);
  if (onlyIfAbsent && version !== undefined) {
    throw invalid(
      'ifVersion',
      'onlyIfAbsent and ifVersion exclude each other: a key that is absent has no version',
    );
  }
  return {
    key,
    decide: (current, now) => {
      if (onlyIfAbsent && current !== undefined) {
        throw new WafStateError(
          'already_exists',
          'there is an entry under this key, and onlyIfAbsent was asked for',
        );
      }
      if (version !== undefined) requireVersion(current, version);
      return {
        mutations: replacing(bytes, toDeadline(options.ttl, now)),
        result: (after) => show(after as Current),
      };
    },
  };
}

/** An entry of another version is left alone, or is what `otherwise` throws. */
export function deleteStep(
  key: ByteString,
  ifVersion?: unknown,
  otherwise?: (current: Current | undefined, version: bigint) => void,
): Step<boolean> {
  const version = ifVersion === undefined ? undefined : toVersion(ifVersion);
  return {
    key,
    decide: (current): Decision<boolean> => {
      if (version !== undefined) otherwise?.(current, version);
      const hit = current !== undefined && (version === undefined || hasVersion(current, version));
      return { mutations: hit ? [REMOVAL] : undefined, result: () => hit };
    },
  };
}

export function incrementStep(key: ByteString, { by, ttl }: StoreIncrementOptions): Step<Counter> {
  const delta = toDelta(by);
  checkTtl(ttl);
  return {
    key,
    decide: (current, now) => {
      if (current !== undefined && !isInteger(current.value)) {
        throw new WafStateError(
          'invalid_mutation',
          'only an integer can be incremented, and under this key is another value; set it anew, or count under another key',
        );
      }
      return { mutations: [addition(delta), ...beginning(ttl, now)], result: counterOf };
    },
  };
}

/**
 * The same without a look, for `changeBlindly`. The additions overflow on every value that is no integer (see `GUARD` in value.ts), so that
 * the engine refuses with `capacity_exceeded` and changes nothing. It does so for -1 to the greatest integer, too.
 */
export function blindIncrement({ by, ttl }: StoreIncrementOptions, now: bigint): readonly Mutation[] {
  const delta = toDelta(by);
  const additions =
    delta > 0n
      ? [addition(delta)]
      : // The second cannot fail after the first.
        [addition(1n), { type: 'subtract', name: VALUE, delta: 1n } as const, addition(delta)];
  return [...additions, ...beginning(ttl, now)];
}

export function touchStep(key: ByteString, ttl: unknown): Step<boolean> {
  checkTtl(ttl);
  return {
    key,
    decide: (current, now) => {
      if (current === undefined) return { mutations: undefined, result: () => false };
      const deadline = toDeadline(ttl, now);
      // No mutation takes a deadline away, so the value is written anew.
      const mutations = deadline === undefined ? replacing(current.value, undefined) : [expiring(deadline)];
      return { mutations, result: () => true };
    },
  };
}

/** REQUIRES: the increment was applied, so that its entry is there. */
export function counterOf(after: Current | undefined): Counter {
  const { value, revision, deadline } = after as Current;
  return { value: BigInt(value), version: String(revision), expiresAt: shownDeadline(deadline) };
}

/** Throws for what `toDeadline` would refuse, before anything is looked at. */
function checkTtl(ttl: unknown): void {
  toDeadline(ttl, 0n);
}

export function absent(): WafStateError {
  return new WafStateError('not_found', 'there is no entry under this key');
}

function requireVersion(current: Current | undefined, version: bigint): void {
  if (current === undefined) throw absent();
  if (hasVersion(current, version)) return;
  throw new WafStateError(
    'conflict',
    `the entry has version ${current.revision}, the call asked for ${version}; read it again and decide anew`,
    { details: { option: 'ifVersion', limit: version, actual: current.revision } },
  );
}

function hasVersion({ revision }: Current, version: bigint): boolean {
  return BigInt(revision) === version;
}

function addition(delta: bigint): Mutation {
  return { type: 'add', name: VALUE, delta };
}

/** What gives a counter its deadline, where there is to be one. */
function beginning(ttl: unknown, now: bigint): Mutation[] {
  const deadline = toDeadline(ttl, now);
  return deadline === undefined ? [] : [expiring(deadline, true)];
}
