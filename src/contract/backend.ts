import type { ByteString } from './bytes.js';
import { WafStateError } from './errors.js';
import type { Feature } from './features.js';
import type { Limits } from './limits.js';
import type { Mutation } from './mutation.js';
import type { Snapshot } from './snapshot.js';
import { type RecordName, spaceName } from './space.js';

/** The version of this interface. A backend made for another is refused at attach. */
export const ABI_VERSION = 1;

/**
 * What an engine promises to the front doors, and what a third party implements. Every method rejects (or, where
 * it is synchronous, throws) with a `WafStateError` only. `wafstate/testing` has the suite that checks it.
 */
export interface Backend {
  readonly abiVersion: number;
  /** For people: `memory`, `lmdb`. */
  readonly name: string;
  readonly features: ReadonlySet<Feature>;

  /**
   * The record as of its newest acknowledged commit. A record that is timed out at `now` is absent. With `hidden`
   * its expired and expiry-only variables are there too.
   */
  load(record: RecordName, now: bigint, limits: Limits, hidden?: boolean): Promise<Snapshot>;

  /** The same at once. There if and only if the feature `synchronous_load` is. */
  loadSync?(record: RecordName, now: bigint, limits: Limits, hidden?: boolean): Snapshot;

  /**
   * Publishes every record's whole batch once, or rejects and leaves no trace. One result for each write, in
   * order. A record may stand only once in a commit. More than one needs `multi_record_atomicity`.
   */
  commit(writes: readonly RecordWrite[], options: CommitOptions): Promise<readonly CommitResult[]>;

  /**
   * The same at once; what `commit` rejects with, this throws. There if and only if the feature `synchronous_commit` is: for
   * engines to which a promise would be most of the cost.
   */
  commitSync?(writes: readonly RecordWrite[], options: CommitOptions): readonly CommitResult[];

  /**
   * One counter in one commit, and the variable as that left it; `undefined` where it is not visible then. By every rule what
   * `commitSync` does with these two mutations and `'any'`. Optional beside `synchronous_commit` and `server_side_rebase`, for
   * engines that can do it for less.
   */
  countSync?(count: CounterWrite, options: CommitOptions): Counted | undefined;

  /**
   * Frees what `now` has ended: timed-out records, expired variables, records without variables. Looks at no more than the
   * budget, resumes where the last call stopped, and starts over at the end. What it changes gets a new revision.
   */
  cleanup(now: bigint, budget: CleanupBudget): Promise<CleanupResult>;

  /** Records in byte order of space, application id and key. Needs `ordered_scan`. */
  scan(query: ScanQuery): Promise<ScanPage>;

  /** Waits for what was accepted, then lets go. Later calls reject with `closed`; a second close is the first. */
  close(): Promise<void>;
}

/**
 * What the current record must be. A record that is timed out at the commit's `now` matches `'absent'` and its old revision.
 * `'any'` needs `server_side_rebase`.
 */
export type Expectation = number | 'absent' | 'any';

export interface RecordWrite {
  readonly record: RecordName;
  readonly expect: Expectation;
  /** The sliding timeout in nanoseconds that a record gets if this commit creates it. */
  readonly timeout?: bigint | undefined;
  readonly mutations: readonly Mutation[];
}

/** What `countSync` does: `add`, then `expire` with `onlyIfNone` where there is a deadline. */
export interface CounterWrite {
  readonly record: RecordName;
  /** As in `RecordWrite`. */
  readonly timeout: bigint | undefined;
  readonly name: ByteString;
  readonly delta: bigint;
  readonly deadline: bigint | undefined;
}

/** A counter as the commit left it. */
export interface Counted {
  readonly value: bigint;
  readonly deadline: bigint | undefined;
}

export interface CommitOptions {
  /** The time that decides what has expired, nanoseconds since the epoch. */
  readonly now: bigint;
  /** On the same clock: when to give up waiting, with `timeout`. Needs `hard_deadlines`. */
  readonly deadline?: bigint | undefined;
  readonly limits: Limits;
}

/** A value as the commit left it. */
export interface CommittedValue {
  readonly value: ByteString;
  readonly deadline: bigint | undefined;
}

export interface CommitResult {
  /** The record's new revision; 0 where the batch removed the record. */
  readonly revision: number;
  /** Whether the record was there, not timed out, before this commit. */
  readonly existed: boolean;
  /** Every variable that the batch touched, in the order of first touch; `undefined` = not visible after it. */
  readonly values: ReadonlyMap<ByteString, CommittedValue | undefined>;
}

export interface CleanupBudget {
  /** Records to look at, at most. */
  readonly records: number;
  /** Variables to look at, at most; a record is never split, and one is always looked at. */
  readonly variables: number;
}

export interface CleanupResult {
  readonly recordsExamined: number;
  readonly recordsRemoved: number;
  readonly variablesRemoved: number;
  /** Whether the end was reached: the next call starts over. */
  readonly wrapped: boolean;
}

export interface ScanQuery {
  /** Nanoseconds since the epoch: timed-out records and expired variables are left out as of then. */
  readonly now: bigint;
  readonly space?: number | undefined;
  /** Needs `space`. */
  readonly applicationId?: ByteString | undefined;
  /** First bytes of the key. Needs `applicationId`. */
  readonly prefix?: ByteString | undefined;
  /** List only what comes after this record, which need not exist. */
  readonly after?: RecordName | undefined;
  /** Entries in the page, 1 to 1000. */
  readonly limit: number;
  /** Timed-out records and hidden variables too. */
  readonly hidden?: boolean | undefined;
}

/** A record of a scan, or why it cannot be read: one corrupt record never hides the others. */
export type ScanEntry =
  | { readonly record: RecordName; readonly snapshot: Snapshot; readonly error?: undefined }
  | { readonly record: RecordName; readonly snapshot?: undefined; readonly error: WafStateError };

export interface ScanPage {
  readonly entries: readonly ScanEntry[];
  /** Whether more may follow: pass the last record looked at as `after`. */
  readonly next: RecordName | undefined;
}

/** Refuses a backend that speaks another version of this interface or lacks a feature that is needed. */
export function attach(backend: Backend, required: Iterable<Feature> = []): void {
  if (backend.abiVersion !== ABI_VERSION) {
    throw new WafStateError(
      'abi_mismatch',
      `backend ${backend.name} implements version ${backend.abiVersion} of the Backend interface, this wafstate needs ${ABI_VERSION}; install matching versions`,
      { details: { limit: ABI_VERSION, actual: backend.abiVersion } },
    );
  }
  if (typeof backend.features?.has !== 'function') {
    throw new WafStateError('invalid_option', `backend ${backend.name} has no set of features`, {
      details: { option: 'backend' },
    });
  }
  const missing = [...required].filter((feature) => !backend.features.has(feature));
  if (missing.length > 0) {
    throw new WafStateError(
      'missing_feature',
      `backend ${backend.name} lacks ${missing.join(', ')}; it has ${[...backend.features].join(', ')}`,
      { details: { option: missing[0] as string } },
    );
  }
}

/** The timeout of a commit whose deadline is over before it begins; undefined where it is not. */
export function overdue({ now, deadline }: CommitOptions): WafStateError | undefined {
  if (deadline === undefined || deadline > now) return undefined;
  return new WafStateError(
    'timeout',
    `the commit's deadline was over ${(now - deadline) / 1_000_000n} ms before it was made; nothing was sent`,
    { details: { outcome: 'not_sent', limit: deadline, actual: now } },
  );
}

/** The conflict of a commit that named a revision. One place, so that it reads the same on every engine. */
export function conflict(record: RecordName, expected: Expectation, actual: number): WafStateError {
  return new WafStateError(
    'conflict',
    `the ${spaceName(record.space)} record is at revision ${actual}, the commit expected ${expected}; load it again and retry`,
    {
      details: {
        space: spaceName(record.space),
        actual,
        ...(typeof expected === 'number' && { limit: expected }),
      },
    },
  );
}
