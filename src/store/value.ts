import { type ByteString, decodeText, encodeText, fromBytes, toBytes } from '../contract/bytes.js';
import { INT64_MAX, INT64_MIN } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { type Json, tooLarge, writeJson } from './json.js';

/**
 * What a store keeps under a key: what JSON can express except null, bytes, or an integer within signed 64 bits. An integer comes out
 * as a number where that is exact, else as a bigint; bytes come out as a `Buffer`.
 */
export type StoreValue =
  | string
  | number
  | bigint
  | boolean
  | Uint8Array
  | readonly Json[]
  | { readonly [name: string]: Json };

/** Bytes of a value as it is stored, at most: of text its UTF-8, of other values their JSON. */
export const MAX_VALUE_BYTES = 2 ** 20;

/**
 * What stands before every value that is no integer: the greatest 64-bit integer. Engines add to the digits that a value begins with, so
 * that whoever adds to something else meets an overflow, which changes nothing: a counter's type is checked where the counter is, in
 * the same step as the addition. See docs/format.md.
 */
const GUARD = String(INT64_MAX);
/** The guard and the letter after it. */
export const VALUE_OVERHEAD = GUARD.length + 1;

const INTEGER = /^(?:0|-?[1-9]\d{0,18})$/;

/** The bytes of a value. Throws `invalid_mutation`. */
export function encodeValue(value: unknown): ByteString {
  if (typeof value === 'string') return encodeString(value);
  if (typeof value === 'bigint') return encodeInteger(value);
  if (Number.isSafeInteger(value)) return String(value) as ByteString;
  if (value instanceof Uint8Array) {
    requireSize(value.byteLength);
    return guarded('b', fromBytes(value));
  }
  if (value === null || value === undefined) {
    throw new WafStateError(
      'invalid_mutation',
      `a value of a store cannot be ${value}; delete the key instead`,
      {
        details: { option: 'value' },
      },
    );
  }
  return encodeJson(value);
}

/** The value of stored bytes. Throws `corrupt_data` where no store has written them. */
export function decodeValue(bytes: ByteString): StoreValue {
  if (!isInteger(bytes)) return decodeGuarded(bytes);
  const number = Number(bytes);
  return Number.isSafeInteger(number) ? number : BigInt(bytes);
}

/** Whether stored bytes are an integer, which can be incremented. */
export function isInteger(bytes: ByteString): boolean {
  return INTEGER.test(bytes);
}

function encodeString(text: string): ByteString {
  // UTF-8 has no fewer bytes than the text has code units, so that what is far too long is not converted first.
  requireSize(text.length);
  const bytes = encodeText(text);
  // A lone surrogate, which UTF-8 cannot express and JSON can.
  if (bytes === undefined) return encodeJson(text);
  requireSize(bytes.length);
  return guarded('s', bytes);
}

function encodeInteger(value: bigint): ByteString {
  if (value >= INT64_MIN && value <= INT64_MAX) return String(value) as ByteString;
  throw new WafStateError(
    'invalid_mutation',
    'an integer of a store must be within signed 64 bits; store it as text',
    { details: { option: 'value', limit: value < 0n ? INT64_MIN : INT64_MAX } },
  );
}

function encodeJson(value: unknown): ByteString {
  const bytes = encodeText(writeJson(value, MAX_VALUE_BYTES)) as ByteString;
  requireSize(bytes.length);
  return guarded('j', bytes);
}

function guarded(letter: 's' | 'j' | 'b', bytes: ByteString): ByteString {
  return (GUARD + letter + bytes) as ByteString;
}

function requireSize(bytes: number): void {
  if (bytes > MAX_VALUE_BYTES) throw tooLarge(MAX_VALUE_BYTES, bytes);
}

function decodeGuarded(bytes: ByteString): StoreValue {
  const letter = bytes.startsWith(GUARD) ? bytes[GUARD.length] : undefined;
  const rest = bytes.slice(VALUE_OVERHEAD) as ByteString;
  if (letter === 's') return decodeText(rest);
  if (letter === 'b') return toBytes(rest);
  if (letter === 'j') {
    try {
      return JSON.parse(decodeText(rest)) as StoreValue;
    } catch (error) {
      throw notAValue(error);
    }
  }
  throw notAValue(undefined);
}

function notAValue(cause: unknown): WafStateError {
  return new WafStateError(
    'corrupt_data',
    'a stored value was not written by a store; delete its key, and let nothing else write to the records of a store',
    { cause },
  );
}
