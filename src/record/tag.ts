/** The tag byte of a variable in a record, and of a touched one in a reply: docs/format.md. */
export const Tag = {
  none: 0,
  integer: 1,
  bytes: 2,
  /** The bits of the three kinds above; all of them set is invalid. */
  kind: 3,
  deadline: 4,
  clock: 8,
  all: 15,
} as const;
