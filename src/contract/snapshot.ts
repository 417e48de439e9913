import type { ByteString } from './bytes.js';

/** One variable as it is stored. */
export interface Variable {
  /** `undefined`: only a deadline was set so far. Integers are canonical decimals. */
  readonly value: ByteString | undefined;
  /** Nanoseconds since the epoch; the variable is expired when this is at or before now. */
  readonly deadline: bigint | undefined;
  /** From when the next period of `deprecate` counts; `undefined` exactly where there is no value. */
  readonly clock: bigint | undefined;
}

/** What is known of a record beside its variables. */
export interface RecordFacts {
  readonly created: bigint;
  /** Time of the last commit; never goes back. */
  readonly updated: bigint;
  /** Commits since creation, this one included. */
  readonly updateCount: number;
  /** The sliding timeout in nanoseconds: the record is gone at `updated + timeout`. */
  readonly timeout: bigint | undefined;
}

/** A record as of one revision. */
export interface Snapshot {
  /** 1 to 2^53-1, or 0: the record is absent. */
  readonly revision: number;
  /** `undefined` exactly where the record is absent. */
  readonly facts: RecordFacts | undefined;
  /** By name, in byte order. Without `hidden`: neither the expired nor those that are only a deadline. */
  readonly variables: ReadonlyMap<ByteString, Variable>;
}

export const ABSENT: Snapshot = Object.freeze({ revision: 0, facts: undefined, variables: new Map() });
