/** How many, since the guard was made. */
export interface GuardCounters {
  readonly requests: number;
  /** Refused by a rule. */
  readonly denied: number;
  readonly redirected: number;
  readonly dropped: number;
  /** Forms that were too large, too slow or encoded. */
  readonly refusedBodies: number;
  /** Connections that closed before the response had a head. */
  readonly aborted: number;
  /** Requests that a failure of the engine, or of the guard, answered. */
  readonly unavailable: number;
  /** Rules that could not be evaluated to their end. */
  readonly evaluationFailures: number;
  /** Requests whose changes are not stored, or not all of them. */
  readonly flushFailures: number;
}

export type Tally = { -readonly [Name in keyof GuardCounters]: number };

export function newTally(): Tally {
  return {
    requests: 0,
    denied: 0,
    redirected: 0,
    dropped: 0,
    refusedBodies: 0,
    aborted: 0,
    unavailable: 0,
    evaluationFailures: 0,
    flushFailures: 0,
  };
}
