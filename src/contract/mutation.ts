import type { ByteString } from './bytes.js';

/**
 * One step of a batch. Steps are blind: none depends on what its author has read, so applying a log to whatever
 * record is current is the same as conflict, reload and reapply.
 *
 * Names are in lower case already, and everything is within the limits: whoever builds a mutation checks it.
 */
export type Mutation = VariableMutation | RecordMutation;

export type VariableMutation =
  | SetMutation
  | RemoveMutation
  | AddMutation
  | SubtractMutation
  | ExpireMutation
  | DeprecateMutation;

export type RecordMutation = TimeoutMutation | RemoveRecordMutation;

/** Creates the variable or replaces its value; an unexpired deadline and the decay clock stay. */
export interface SetMutation {
  readonly type: 'set';
  readonly name: ByteString;
  readonly value: ByteString;
}

/** Value, deadline and decay clock. */
export interface RemoveMutation {
  readonly type: 'remove';
  readonly name: ByteString;
}

/** Adds a signed 64-bit delta; what is missing or no number counts as 0. */
export interface AddMutation {
  readonly type: 'add';
  readonly name: ByteString;
  readonly delta: bigint;
  /** A sum beyond 64 bits is held at the bound. Default: it refuses the whole batch. */
  readonly saturates?: boolean | undefined;
}

/** A step of its own, since the negative of the least 64-bit integer is none. */
export interface SubtractMutation {
  readonly type: 'subtract';
  readonly name: ByteString;
  readonly delta: bigint;
  readonly saturates?: boolean | undefined;
}

/** Sets the absolute deadline; the variable need not exist yet. */
export interface ExpireMutation {
  readonly type: 'expire';
  readonly name: ByteString;
  /** Nanoseconds since the epoch: the time of the call plus the seconds asked for. */
  readonly deadline: bigint;
  /** Only where the variable has no deadline yet: how a window begins with its first request. */
  readonly onlyIfNone: boolean;
}

/** Lets a positive value decay by `amount` for each whole `period` on its own clock, never below zero. */
export interface DeprecateMutation {
  readonly type: 'deprecate';
  readonly name: ByteString;
  /** At least 1. */
  readonly amount: bigint;
  /** Nanoseconds, more than 0. */
  readonly period: bigint;
  /** The time of the call, nanoseconds since the epoch. */
  readonly at: bigint;
}

/** Sets the record's sliding timeout, renewed by every commit; `undefined` ends it. */
export interface TimeoutMutation {
  readonly type: 'timeout';
  /** Nanoseconds, more than 0. */
  readonly duration: bigint | undefined;
}

/** Removes the record with all it holds; what follows in the batch begins a new one. */
export interface RemoveRecordMutation {
  readonly type: 'removeRecord';
}
