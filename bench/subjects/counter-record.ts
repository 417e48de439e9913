/** Bytes before the key, and after the counter's name: docs/format.md, Record. */
const HEADER = 40;
const VARIABLE = 3;
const NAME = 'requests';
const CHECKSUM = 4;

/** Where the counter stands: in front, so that its place does not depend on the key. */
export const COUNTER_AT = 0;

/**
 * As many bytes as wafstate's record of one counter takes for this key. Only the size is the same: a subject that writes
 * less would copy less.
 */
export function counterRecord(key: string): Buffer {
  return Buffer.alloc(HEADER + key.length + VARIABLE + NAME.length + 8 + CHECKSUM);
}
