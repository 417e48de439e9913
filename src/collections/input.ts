import { type ByteString, encodeText, fromBytes, lowerAscii } from '../contract/bytes.js';
import { INT64_MAX, INT64_MIN, SECOND, TEN_YEARS } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import type { Limits } from '../contract/limits.js';
import { COLLECTION_SPACES, type CollectionName, spaceName } from '../contract/space.js';
import { isFactName } from './facts.js';

/**
 * From what callers write to what the contract carries. Everything a caller can get wrong is found here, at the call
 * that did it and before any of it is kept.
 */

/** Text goes in as its UTF-8 bytes and must be well formed; bytes go in as they are. */
export type Text = string | Uint8Array;
/** A number must be a safe integer, a bigint within signed 64 bits; both are kept as decimals. */
export type Value = Text | number | bigint;
/** A safe integer, or a bigint within signed 64 bits. */
export type Integer = number | bigint;
/** 0 or more and finite; a number may have a fraction, kept to the nanosecond. */
export type Seconds = number | bigint;

/** Collection names compare without regard to case. */
export type Collection = CollectionName | Uppercase<CollectionName>;
/** A collection, or the store of this transaction alone. */
export type Scope = Collection | 'tx' | 'TX';

/** Where the transaction's own store stands among the spaces, which begin at 1. */
export const TX = 0;

/** The space of a scope; `TX` is 0. Throws `invalid_option` for a word that is none. */
export function toSpace(scope: Scope): number {
  switch (scope) {
    case 'ip':
      return COLLECTION_SPACES.ip;
    case 'global':
      return COLLECTION_SPACES.global;
    case 'tx':
      return TX;
    case 'session':
      return COLLECTION_SPACES.session;
    case 'user':
      return COLLECTION_SPACES.user;
    case 'resource':
      return COLLECTION_SPACES.resource;
    default:
      return toSpaceAnyCase(scope);
  }
}

function toSpaceAnyCase(scope: string): number {
  const name = typeof scope === 'string' ? scope.toLowerCase() : '';
  if (name === 'tx') return TX;
  if (Object.hasOwn(COLLECTION_SPACES, name)) return COLLECTION_SPACES[name as CollectionName];
  throw new WafStateError(
    'invalid_option',
    `there is no such collection; the collections are ${Object.keys(COLLECTION_SPACES).join(', ')}, and tx for the transaction's own store`,
    { details: { option: 'collection' } },
  );
}

/** The space of a collection that is kept. Throws `unsupported` for the transaction's own store. */
export function toPersistentSpace(scope: Scope, method: string): number {
  const space = toSpace(scope);
  if (space !== TX) return space;
  throw new WafStateError(
    'unsupported',
    `${method} is not for tx: the transaction's own store has no record and ends with the transaction`,
    { details: { space: 'tx' } },
  );
}

/** Throws `invalid_key`. */
export function toKey(key: Text, limits: Limits, space: number): ByteString {
  const size = unitsOf(key);
  if (size > limits.keyBytes) throw keyError(space, limits.keyBytes, size);
  const bytes = toByteString(key);
  if (bytes === undefined) {
    throw new WafStateError(
      'invalid_key',
      `the key of the ${spaceName(space)} collection must be well-formed text or a Uint8Array; pass bytes that are no text as a Uint8Array`,
      { details: { space: spaceName(space), option: 'key' } },
    );
  }
  if (bytes.length === 0 || bytes.length > limits.keyBytes) {
    throw keyError(space, limits.keyBytes, bytes.length);
  }
  return bytes;
}

function keyError(space: number, limit: number, actual: number): WafStateError {
  const collection = spaceName(space);
  return new WafStateError(
    'invalid_key',
    actual === 0
      ? `the key of the ${collection} collection is empty: all clients would share one record; skip the binding where there is no key`
      : `the key of the ${collection} collection has ${actual} bytes, the limit keyBytes allows ${limit}; use a digest of it`,
    { details: { space: collection, option: 'keyBytes', limit, actual } },
  );
}

/**
 * A variable's name in lower case, or a record fact's name, which comes out in upper case as no variable's does. Throws
 * `invalid_mutation`.
 */
export function toName(name: Text, limits: Limits): ByteString {
  if (typeof name === 'string' && name.length <= limits.nameBytes && isPlain(name)) return name as ByteString;
  const bytes = toNameBytes(name, limits);
  return isFactName(bytes) ? bytes : lowerAscii(bytes);
}

/** The same for the transaction's own store, where no name is a fact's. */
export function toLocalName(name: Text, limits: Limits): ByteString {
  if (typeof name === 'string' && name.length <= limits.nameBytes && isPlain(name)) return name as ByteString;
  return lowerAscii(toNameBytes(name, limits));
}

/** Not empty, ASCII, and in lower case: nearly every name, told in one pass. */
function isPlain(name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    if (unit >= 0x80 || (unit >= 0x41 && unit <= 0x5a)) return false;
  }
  return name.length > 0;
}

function toNameBytes(name: Text, limits: Limits): ByteString {
  const bytes = unitsOf(name) > limits.nameBytes ? undefined : toByteString(name);
  if (bytes !== undefined && bytes.length > 0 && bytes.length <= limits.nameBytes) return bytes;
  const actual = bytes?.length ?? unitsOf(name);
  if (bytes === undefined && actual <= limits.nameBytes) {
    throw new WafStateError(
      'invalid_mutation',
      "a variable's name must be well-formed text or a Uint8Array; pass bytes that are no text as a Uint8Array",
      { details: { option: 'name' } },
    );
  }
  throw new WafStateError(
    'invalid_mutation',
    `a variable's name must have 1 to ${limits.nameBytes} bytes (limit nameBytes), got ${actual}`,
    { details: { option: 'nameBytes', limit: limits.nameBytes, actual } },
  );
}

/** Throws `invalid_mutation`. */
export function toValue(value: Value, limits: Limits): ByteString {
  if (typeof value === 'number' || typeof value === 'bigint') {
    return String(toInteger(value, 'value')) as ByteString;
  }
  const bytes = unitsOf(value) > limits.valueBytes ? undefined : toByteString(value);
  if (bytes !== undefined && bytes.length <= limits.valueBytes) return bytes;
  const actual = bytes?.length ?? unitsOf(value);
  if (bytes === undefined && actual <= limits.valueBytes) {
    throw new WafStateError(
      'invalid_mutation',
      'a value must be well-formed text, a Uint8Array or an integer; pass bytes that are no text as a Uint8Array',
      { details: { option: 'value' } },
    );
  }
  throw new WafStateError(
    'invalid_mutation',
    `a value of ${actual} bytes is over the limit valueBytes, ${limits.valueBytes}; shorten it or raise the limit`,
    { details: { option: 'valueBytes', limit: limits.valueBytes, actual } },
  );
}

/** At most the bytes it will have: what is over a limit already is never converted. */
function unitsOf(text: Text): number {
  return typeof text === 'string' || text instanceof Uint8Array ? text.length : 0;
}

/** Undefined where the text is not well formed, or is neither text nor bytes. */
function toByteString(text: Text): ByteString | undefined {
  if (typeof text === 'string') return encodeText(text);
  return text instanceof Uint8Array ? fromBytes(text) : undefined;
}

/** Throws `invalid_mutation` unless it is an integer within signed 64 bits. */
export function toInteger(value: Integer, option: string): bigint {
  if (value === 1) return 1n;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value === 'bigint' && value <= INT64_MAX && value >= INT64_MIN) return value;
  throw new WafStateError(
    'invalid_mutation',
    `${option} must be a safe integer or a bigint within signed 64 bits, got ${whatNumber(value)}`,
    { details: { option } },
  );
}

/** In words: the number may be a client's. */
function whatNumber(value: unknown): string {
  if (typeof value === 'bigint') return 'a bigint beyond 64 bits';
  if (typeof value !== 'number') return `a value of type ${typeof value}`;
  return Number.isInteger(value) ? 'a number beyond 2 ** 53: pass a bigint' : 'a number that is no integer';
}

/** The last number that `toNanoseconds` was given, and what came out: a rule set has few windows, and bigints cost. */
let lastSeconds = 0;
let lastNanoseconds = 0n;

/** Nanoseconds. Throws `invalid_mutation` for what is negative, no number, or longer than ten years. */
export function toNanoseconds(seconds: Seconds, option: string): bigint {
  if (seconds === lastSeconds) return lastNanoseconds;
  if (typeof seconds === 'bigint' && seconds >= 0n && seconds <= TEN_YEARS) return seconds * SECOND;
  if (typeof seconds === 'number' && seconds >= 0 && seconds <= TEN_YEARS) {
    const whole = Math.trunc(seconds);
    // Apart, since a double has no nanoseconds left at the size of a time in seconds.
    const fraction = seconds === whole ? 0n : BigInt(Math.round((seconds - whole) * 1e9));
    lastNanoseconds = BigInt(whole) * SECOND + fraction;
    lastSeconds = seconds;
    return lastNanoseconds;
  }
  throw new WafStateError(
    'invalid_mutation',
    `${option} must be a number of seconds from 0 to ${TEN_YEARS} (ten years)`,
    { details: { option, limit: TEN_YEARS } },
  );
}

/** Plain decimal seconds, as TIMEOUT is read and written: `3600`, `0.5`. */
const DECIMAL_SECONDS = /^(\d{1,18})(?:\.(\d{1,9}))?$/;

/** The same for a value that a rule gives: text counts as a decimal. */
export function toDuration(value: Value, option: string): bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return toNanoseconds(value, option);
  const match = DECIMAL_SECONDS.exec(toByteString(value) ?? '');
  if (match !== null && Number(match[0]) <= TEN_YEARS) {
    return BigInt(match[1] as string) * SECOND + BigInt((match[2] ?? '').padEnd(9, '0'));
  }
  throw new WafStateError(
    'invalid_mutation',
    `${option} must be decimal seconds, such as 3600 or 0.5, up to ${TEN_YEARS} (ten years)`,
    { details: { option, limit: TEN_YEARS } },
  );
}
