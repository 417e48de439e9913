import { type ByteString, encodeText } from '../contract/bytes.js';
import { INT64_MAX, INT64_MIN, SECOND, saturatingAdd } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';

/** The checks of what callers pass, made before anything is done. No message shows a key or a value. */

/** Bytes of a key in UTF-8, at most. */
export const MAX_KEY_BYTES = 1024;
/** Entries of a page where no limit is given, and at most. */
export const DEFAULT_PAGE = 100;
export const MAX_PAGE = 1000;

/** The greatest version that a caller may name: what other stores of this kind count in. */
const MAX_VERSION = 2n ** 64n - 1n;
const DECIMAL = /^\d{1,20}$/;

/** Throws `invalid_key`. */
export function toKey(key: unknown): ByteString {
  const bytes = typeof key === 'string' && key !== '' ? encodeText(key) : undefined;
  if (bytes !== undefined && bytes.length <= MAX_KEY_BYTES) return bytes;
  throw new WafStateError(
    'invalid_key',
    `a key must be well-formed text of 1 to ${MAX_KEY_BYTES} bytes in UTF-8, got ${describeText(key, bytes)}`,
    {
      details: {
        option: 'key',
        limit: MAX_KEY_BYTES,
        ...(bytes !== undefined && { actual: bytes.length }),
      },
    },
  );
}

/** The bytes of a prefix or of a cursor; empty where there is none. Throws `invalid_option`. */
export function toKeyPart(option: 'prefix' | 'after', text: unknown): ByteString {
  if (text === undefined) return '' as ByteString;
  const bytes = typeof text === 'string' ? encodeText(text) : undefined;
  if (bytes !== undefined && bytes.length <= MAX_KEY_BYTES) return bytes;
  throw invalid(
    option,
    `${option} must be well-formed text of at most ${MAX_KEY_BYTES} bytes in UTF-8, got ${describeText(text, bytes)}`,
  );
}

/** `now` plus the seconds, in nanoseconds since the epoch; undefined = never, for 0 and undefined. Throws `invalid_option`. */
export function toDeadline(ttl: unknown, now: bigint): bigint | undefined {
  if (ttl === undefined || ttl === 0) return undefined;
  if (typeof ttl !== 'number' || !(ttl > 0) || ttl === Number.POSITIVE_INFINITY) {
    throw invalid(
      'ttl',
      `ttl must be a finite number of seconds, 0 or undefined for never, got ${typeof ttl === 'number' ? ttl : `a ${typeof ttl}`}`,
    );
  }
  const whole = Math.trunc(ttl);
  // Apart, since a double has no nanoseconds left at the size of a year in seconds.
  const fraction = BigInt(Math.round((ttl - whole) * 1e9));
  const nanoseconds = BigInt(whole) * SECOND + fraction;
  // What rounds to nothing is still no "never".
  return saturatingAdd(now, nanoseconds === 0n ? 1n : nanoseconds);
}

/** Throws `invalid_option`. A version is a decimal string; an integer is taken for one. */
export function toVersion(version: unknown): bigint {
  const exact =
    typeof version === 'bigint' || (typeof version === 'number' && Number.isSafeInteger(version))
      ? BigInt(version)
      : typeof version === 'string' && DECIMAL.test(version)
        ? BigInt(version)
        : undefined;
  if (exact !== undefined && exact >= 0n && exact <= MAX_VERSION) return exact;
  throw invalid(
    'ifVersion',
    'a version must be a decimal string as an entry has it, or an integer that a number holds exactly',
  );
}

/** Entries of a page. Throws `invalid_option`. */
export function toLimit(limit: unknown): number {
  if (limit === undefined || limit === 0) return DEFAULT_PAGE;
  if (typeof limit === 'number' && Number.isSafeInteger(limit) && limit > 0) return Math.min(limit, MAX_PAGE);
  throw invalid(
    'limit',
    `limit must be an integer from 1, or 0 for ${DEFAULT_PAGE}, got ${typeof limit === 'number' ? limit : `a ${typeof limit}`}`,
  );
}

/** Throws `invalid_mutation`. */
export function toDelta(by: unknown): bigint {
  if (by === undefined) return 1n;
  if (typeof by === 'number' && Number.isSafeInteger(by)) return BigInt(by);
  if (typeof by === 'bigint' && by >= INT64_MIN && by <= INT64_MAX) return by;
  throw new WafStateError(
    'invalid_mutation',
    'by must be a safe integer, or a bigint within signed 64 bits',
    { details: { option: 'by' } },
  );
}

export function invalid(option: string, message: string): WafStateError {
  return new WafStateError('invalid_option', message, { details: { option } });
}

function describeText(text: unknown, bytes: ByteString | undefined): string {
  if (typeof text !== 'string') return `a ${typeof text}`;
  return bytes === undefined && text !== '' ? 'a lone surrogate' : `${bytes?.length ?? 0} bytes`;
}
