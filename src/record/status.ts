/** How one request of a batch ended: the statuses of docs/format.md, Reply. */
export const Status = {
  applied: 0,
  conflict: 1,
  malformed: 2,
  overflow: 3,
  tooManyVariables: 4,
  recordTooLarge: 5,
  corrupt: 6,
  mapFull: 7,
  revisionsUsedUp: 8,
  diskFull: 9,
  engineError: 10,
  notExecuted: 11,
  tableFull: 12,
} as const;

export type Status = (typeof Status)[keyof typeof Status];

/** Where no mutation is at fault. */
export const NO_MUTATION = 0xffff_ffff;

/** Why a request was refused. What `limit` and `actual` mean depends on the status. */
export interface Refusal {
  readonly status: Exclude<Status, 0>;
  /** Index of the write in its request. */
  readonly write: number;
  /** Index of the mutation in its write, or `NO_MUTATION`. */
  readonly mutation: number;
  readonly limit: number;
  readonly actual: number;
}

/** Of a request that breaks the grammar. */
export const MALFORMED: Refusal = Object.freeze({
  status: Status.malformed,
  write: 0,
  mutation: NO_MUTATION,
  limit: 0,
  actual: 0,
});
