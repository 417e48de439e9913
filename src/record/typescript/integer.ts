/**
 * 64-bit integers as two halves, the upper one signed: what the hot paths compute with, since a BigInt is an
 * allocation each.
 */

const HALF = 2 ** 32;
const ZERO = 0x30;
const NINE = 0x39;
const MINUS = 0x2d;

/** Digits of 2^63, the first magnitude that only a negative integer has. */
const BOUND = '9223372036854775808';

/** Whether (high, low) is at or before (otherHigh, otherLow). */
export function isAtMost(high: number, low: number, otherHigh: number, otherLow: number): boolean {
  return high < otherHigh || (high === otherHigh && low <= otherLow);
}

/** The integer as a decimal. */
export function decimal(view: DataView, at: number): string {
  const value = view.getInt32(at + 4, true) * HALF + view.getUint32(at, true);
  return Number.isSafeInteger(value) ? String(value) : String(view.getBigInt64(at, true));
}

/** Characters of that decimal. */
export function decimalLength(view: DataView, at: number): number {
  const value = view.getInt32(at + 4, true) * HALF + view.getUint32(at, true);
  if (!Number.isSafeInteger(value)) return String(view.getBigInt64(at, true)).length;
  const sign = value < 0 ? 1 : 0;
  const magnitude = Math.abs(value);
  let digits = 1;
  for (let bound = 10; magnitude >= bound; bound *= 10) digits++;
  return sign + digits;
}

/** Whether the bytes are the canonical decimal of a signed 64-bit integer: the record holds those as integers. */
export function isCanonicalDecimal(view: DataView, start: number, length: number): boolean {
  if (length === 0 || length > BOUND.length + 1) return false;
  const negative = view.getUint8(start) === MINUS;
  const first = negative ? start + 1 : start;
  const digits = negative ? length - 1 : length;
  if (digits === 0 || digits > BOUND.length) return false;
  if (view.getUint8(first) === ZERO) return digits === 1 && !negative;
  for (let i = 0; i < digits; i++) {
    const byte = view.getUint8(first + i);
    if (byte < ZERO || byte > NINE) return false;
  }
  return digits < BOUND.length || isWithinBound(view, first, negative);
}

/** Of 19 digits: whether they are below 2^63, or 2^63 itself for a negative one. */
function isWithinBound(view: DataView, first: number, negative: boolean): boolean {
  for (let i = 0; i < BOUND.length; i++) {
    const difference = view.getUint8(first + i) - BOUND.charCodeAt(i);
    if (difference !== 0) return difference < 0;
  }
  return negative;
}
