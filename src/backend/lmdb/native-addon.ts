/**
 * What the addon offers an LMDB environment: the functions of native/addon/environment.cc, exactly as they are called.
 *
 * A *handle* belongs to the thread that opened it. Threads of one process that open the same directory share one LMDB
 * environment behind their handles; it closes with the last of them. A thread that dies, at any moment, gives its
 * handles back: no call leaves a transaction open on return.
 *
 * Whatever returns a number answers a failure by a negative `NATIVE_FAILURE`; `environmentFailure()` has the particulars. A wrong type of argument
 * throws a TypeError, nothing else throws.
 */
export interface NativeEnvironmentAddon {
  /**
   * Opens under the gate, which is `<path>/gate`, a second environment. Both directories must exist and their files must have
   * been checked before: LMDB crashes on files that are not its own. Waits for whoever holds the gate, so call it first where
   * waiting does no harm. An environment that this process has open already is shared at once, without the gate.
   *
   * Returns a handle, 1 or more.
   */
  environmentOpen(options: NativeOpenOptions): number;

  /** Whether any thread of this process has the environment of this directory open through the addon. */
  environmentIsOpen(path: string): boolean;

  /** Returns 0, also for a handle that is closed already. */
  environmentClose(handle: number): number;

  /** What the last negative answer on this thread was about. */
  environmentFailure(): NativeFailure;

  /**
   * One batch (docs/format.md, Batch) from begin to commit: gate, transaction, every request, last revision, commit, in durable
   * environments fsync. Returns the reply; requests of a batch that could not be committed are answered with status 9 or 10, those for which
   * the map has no room with 7. Negative only where nothing was tried: `closed`, `read_only`, `forked`.
   *
   * `writer` names the caller within this process, `sequence` the batch; the reply is also kept for `environmentLastReply`.
   */
  environmentExecute(
    handle: number,
    writer: bigint,
    sequence: number,
    batch: Uint8Array,
  ): ArrayBuffer | number;

  /**
   * The reply of that batch, from any thread, for a caller whose thread died before it could hand the reply on. 0: the batch
   * was never executed (or a later one of this writer was); 1: it is being executed right now.
   */
  environmentLastReply(handle: number, writer: bigint, sequence: number): ArrayBuffer | number;

  /** Drops what is kept of a writer. Returns 0. */
  environmentForgetWriter(handle: number, writer: bigint): number;

  /** Flushes to disk what a relaxed environment committed; blocks meanwhile, so not on the main thread. Returns 0. */
  environmentSync(handle: number): number;

  /**
   * The record whose key (docs/format.md, Key) stands in the first `keyLength` bytes of `scratch`, verified, put at the start of
   * `scratch`. Returns its length in bytes, 0 where it is absent or timed out at `now`. A length beyond `scratch.length` means
   * that nothing was written: call again with a larger one (and the key in it). Sees every commit acknowledged before the call.
   */
  environmentLoad(handle: number, scratch: Uint8Array, keyLength: number, now: bigint): number;

  /** As `environmentLoad`, but unverified and never timed out: for looking at a corrupt record. */
  environmentLoadRaw(handle: number, scratch: Uint8Array, keyLength: number): number;

  /** Removes a record, corrupt or not. Returns 1, or 0 where there was none. */
  environmentDelete(handle: number, scratch: Uint8Array, keyLength: number): number;

  /**
   * One page of records in byte order of their keys. `scratch` holds `fromLength` bytes of the key to begin at, then `prefixLength` bytes that every
   * key must begin with; either may be empty; keys of space 0 never come. `limit`: records to look at, at most.
   *
   * Returns the bytes written to `scratch`:
   *
   *     u32  entries that follow
   *     u32  records looked at
   *     u8   1 = nothing is left beyond this page
   *     u8   0
   *     u16  length of the last key looked at, 0 if none was: where the next page begins, with EXCLUSIVE
   *          that key
   *          entries: u16 key length, u8 reason (0 = sound, else why it is corrupt: native/core/record.h), u8 0,
   *          u32 record length (0 if corrupt), key, record
   *
   * A page ends early where `scratch` is full. A figure beyond `scratch.length` means that not even one entry fits, and that
   * `scratch` is as it was: call again with one that has at least so many bytes.
   */
  environmentScan(
    handle: number,
    scratch: Uint8Array,
    fromLength: number,
    prefixLength: number,
    limit: number,
    flags: number,
  ): number;

  environmentStats(handle: number): NativeStats | number;

  /**
   * Sweeps up to `records` records or `variables` variables, whichever comes first, from where the last sweep of any process
   * stopped. With an `interval` above 0 (nanoseconds) it does so only if no sweep of any process began within it, and
   * notes that this one did.
   */
  environmentCleanup(
    handle: number,
    now: bigint,
    records: number,
    variables: number,
    interval: bigint,
  ): NativeCleanup | number;

  /**
   * Puts records back as they were, but under new revisions, in one transaction: all or none. `records` holds, one after the
   * other, u32 length and the record's bytes; `conflict` is one of `RESTORE`. A place is taken by a corrupt record, too, but not by one
   * that is timed out at `now`.
   */
  environmentRestore(
    handle: number,
    records: Uint8Array,
    conflict: number,
    now: bigint,
  ): RestoreAnswer | number;
}

/** What becomes of a record whose place is taken. */
export const RESTORE = { skip: 0, replace: 1, fail: 2 } as const;
export type OnConflict = keyof typeof RESTORE;

export interface RestoreAnswer {
  readonly restored: number;
  readonly skipped: number;
  /** With `fail`, a place was taken: nothing was restored. */
  readonly conflict: boolean;
}

/** Flags of `environmentScan`. */
export const SCAN_EXCLUSIVE = 1;
/** Corrupt records only: sound ones are looked at and counted, but no entry is made of them. */
export const SCAN_CORRUPT_ONLY = 2;

export interface NativeOpenOptions {
  readonly path: string;
  /** Hard cap in bytes; rounded down to whole pages. */
  readonly mapSize: number;
  /** Threads and processes that read, at most; counts only for the first to open, which lays out lock.mdb. */
  readonly maxReaders: number;
  /** Permissions of files that LMDB makes itself, 0o600. */
  readonly mode: number;
  /** The longest wait for a lock that another process holds; then the answer is `timed_out`, and nothing was done. 0 = without end. */
  readonly waitMilliseconds: number;
  readonly relaxed: boolean;
  readonly readOnly: boolean;
}

/** Why a call failed; the functions return it negated. */
export const NATIVE_FAILURE = {
  /** The handle is closed, or of another thread. */
  closed: 1,
  /** This process has the environment open with other options; code 1: mapSize, 2: durability, 3: maxReaders, 4: readOnly. `actual` is theirs. */
  option_mismatch: 2,
  /** The environment was made with the other durability. */
  durability_mismatch: 3,
  /** An LMDB environment with data, but without wafstate's record about itself. */
  foreign: 4,
  /** Made by a newer wafstate: `actual` is its format version. */
  format_version: 5,
  /** Opened read-only, but never written to, or without a gate. */
  absent: 6,
  /** All `limit` slots of the reader table are taken by living readers. */
  readers_full: 7,
  /** The process was forked after opening: LMDB environments do not survive that. */
  forked: 8,
  /** The disk is full or broken: `code` is the errno. */
  disk: 9,
  /** `code` is LMDB's or the system's. */
  engine: 10,
  /** The record is corrupt: `code` is the reason. */
  corrupt: 11,
  /** Not even the reserve for deletions has room. */
  map_full: 12,
  /** A write on a handle opened read-only. */
  read_only: 13,
  /** Another process has held a lock for `waitMilliseconds`. */
  timed_out: 14,
} as const;

export type NativeFailureName = keyof typeof NATIVE_FAILURE;

export interface NativeFailure {
  /** One of `NATIVE_FAILURE`. */
  readonly failure: number;
  /** What was being done: `open the gate`, `begin`, `commit` … */
  readonly step: string;
  readonly code: number;
  readonly limit: number;
  readonly actual: number;
}

export interface NativeStats {
  /** The hard cap, bytes. */
  readonly mapSize: number;
  readonly pageSize: number;
  /** Pages that hold something, LMDB's own included. */
  readonly usedPages: number;
  /** Pages within the file that will be reused. */
  readonly freePages: number;
  /** Bytes of the file that are in use or will be reused. */
  readonly fileBytes: number;
  /** Bytes that the data file takes on disk. */
  readonly diskBytes: number;
  /** Records, without the engine's own. */
  readonly records: number;
  readonly readers: number;
  readonly maxReaders: number;
  /** The newest revision given. */
  readonly revision: number;
  readonly relaxed: boolean;
}

export interface NativeCleanup {
  /** Another sweep began within the interval: nothing was done. */
  readonly skipped: boolean;
  readonly recordsExamined: number;
  readonly recordsRemoved: number;
  readonly variablesRemoved: number;
  /** Whether the end was reached: the next call starts over. */
  readonly wrapped: boolean;
}
