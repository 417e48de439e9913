/**
 * XXH32 (Yann Collet, specification 0.1.1) with seed 0: the record's checksum. It finds damage, not forgery. 32-bit
 * lanes are what JavaScript multiplies exactly (`Math.imul`), so both implementations run at their full speed.
 */
const PRIME_1 = 0x9e3779b1 | 0;
const PRIME_2 = 0x85ebca77 | 0;
const PRIME_3 = 0xc2b2ae3d | 0;
const PRIME_4 = 0x27d4eb2f;
const PRIME_5 = 0x165667b1;

/** The checksum of the `length` bytes that begin at `start`, 0 to 2^32-1. REQUIRES: they lie in `view`. */
export function xxh32(view: DataView, start: number, length: number): number {
  const end = start + length;
  let at = start;
  let hash: number;
  if (length >= 16) {
    let a = (PRIME_1 + PRIME_2) | 0;
    let b = PRIME_2;
    let c = 0;
    let d = -PRIME_1 | 0;
    for (const last = end - 16; at <= last; at += 16) {
      a = lane(a, view.getInt32(at, true));
      b = lane(b, view.getInt32(at + 4, true));
      c = lane(c, view.getInt32(at + 8, true));
      d = lane(d, view.getInt32(at + 12, true));
    }
    hash = (rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18)) | 0;
  } else {
    hash = PRIME_5;
  }
  hash = (hash + length) | 0;
  for (; at + 4 <= end; at += 4) {
    hash = (hash + Math.imul(view.getInt32(at, true), PRIME_3)) | 0;
    hash = Math.imul(rotate(hash, 17), PRIME_4);
  }
  for (; at < end; at++) {
    hash = (hash + Math.imul(view.getUint8(at), PRIME_5)) | 0;
    hash = Math.imul(rotate(hash, 11), PRIME_1);
  }
  hash = Math.imul(hash ^ (hash >>> 15), PRIME_2);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME_3);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function lane(accumulator: number, input: number): number {
  const sum = (accumulator + Math.imul(input, PRIME_2)) | 0;
  return Math.imul(rotate(sum, 13), PRIME_1);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
