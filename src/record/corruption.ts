/** Why bytes are no record: the numbers of docs/format.md and of `Corruption` in native/core/record.h. */
export const Corruption = {
  none: 0,
  tooShort: 1,
  magic: 2,
  version: 3,
  checksum: 4,
  flags: 5,
  space: 6,
  keyLength: 7,
  revision: 8,
  updateCount: 9,
  timeout: 10,
  truncated: 11,
  nameLength: 12,
  tag: 13,
  valueless: 14,
  nameCase: 15,
  nameOrder: 16,
  clock: 17,
  integer: 18,
  trailing: 19,
  otherName: 20,
} as const;

export type Corruption = (typeof Corruption)[keyof typeof Corruption];

const TEXTS: Readonly<Record<Corruption, string>> = {
  0: 'nothing is wrong with it',
  1: 'it is shorter than any record',
  2: 'it does not begin as a record',
  3: 'its schema version is not 1',
  4: 'its checksum is wrong',
  5: 'it has unknown flags',
  6: 'its space is out of range',
  7: 'its key length is out of range',
  8: 'its revision is out of range',
  9: 'its update count is 0',
  10: 'its timeout is below 1 ns',
  11: 'it is cut short',
  12: 'a variable has no name',
  13: 'a variable has an unknown tag',
  14: 'a variable without a value has a clock or no deadline',
  15: 'a variable name has upper-case letters',
  16: 'its variable names are out of order or repeat',
  17: 'a decay clock is not in its shortest form',
  18: 'an integer is not in its shortest form',
  19: 'bytes follow its last variable',
  20: 'it is stored under the key of another record',
};

/** The reason in words: the end of "the record is corrupt: …". */
export function corruptionText(reason: number): string {
  return TEXTS[reason as Corruption] ?? `reason ${reason}`;
}
