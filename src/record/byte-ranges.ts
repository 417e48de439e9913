/**
 * Names as they lie in buffers. Most names are of 8 to 16 bytes and share their beginning with others, so four bytes are taken
 * at a time.
 */

/** Byte order of two ranges, as memcmp and then by length. */
export function compareRanges(
  a: DataView,
  aStart: number,
  aLength: number,
  b: DataView,
  bStart: number,
  bLength: number,
): number {
  const shared = Math.min(aLength, bLength);
  let i = 0;
  while (i + 4 <= shared && a.getInt32(aStart + i) === b.getInt32(bStart + i)) i += 4;
  for (; i < shared; i++) {
    const difference = a.getUint8(aStart + i) - b.getUint8(bStart + i);
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

/** Whether two ranges of one length hold the same bytes. */
export function equalRanges(
  a: DataView,
  aStart: number,
  b: DataView,
  bStart: number,
  length: number,
): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) if (a.getInt32(aStart + i) !== b.getInt32(bStart + i)) return false;
  for (; i < length; i++) if (a.getUint8(aStart + i) !== b.getUint8(bStart + i)) return false;
  return true;
}

/** Whether a byte of the range is an ASCII capital. In the lower seven bits of each, what is added carries into the eighth from A, and from beyond Z. */
export function hasUpperCase(view: DataView, from: number, to: number): boolean {
  let at = from;
  for (; at + 4 <= to; at += 4) {
    const word = view.getInt32(at);
    const low = word & 0x7f7f_7f7f;
    if (((low + 0x3f3f_3f3f) ^ (low + 0x2525_2525)) & ~word & 0x8080_8080) return true;
  }
  for (; at < to; at++) {
    const byte = view.getUint8(at);
    if (byte >= 0x41 && byte <= 0x5a) return true;
  }
  return false;
}
