import type { ByteString } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';
import type { Durability } from './layout.js';

/** The reading side of an opened environment, on the caller's thread. Two implementations, one file format. */
export interface Environment {
  readonly implementation: 'native' | 'typescript';

  /**
   * The bytes of the record under a key of docs/format.md, as of the newest acknowledged commit; undefined where it is absent. Valid
   * until the next call of any method.
   */
  load(key: ByteString): Uint8Array | undefined;

  /** Records in byte order of their keys, from `from` on; the engine's own are left out. */
  page(from: ByteString, exclusive: boolean, prefix: ByteString, limit: number): StoredPage;

  stats(): EnvironmentStats;

  /** What became of a batch whose writer died before it answered. */
  fate(sequence: number): BatchFate;

  close(): Promise<void>;
}

export interface StoredPage {
  /** Each with bytes of its own, or with why it cannot be read. */
  readonly entries: readonly { readonly key: ByteString; readonly record: Uint8Array | WafStateError }[];
  /** The last key looked at; undefined where the end was reached. */
  readonly next: ByteString | undefined;
}

export type BatchFate =
  /** The whole reply survived. */
  | { readonly type: 'replied'; readonly reply: Uint8Array }
  /** Committed; by request, 1 = applied, 0 = refused. */
  | { readonly type: 'applied'; readonly applied: Uint8Array }
  | { readonly type: 'not_executed' }
  /** A thread that is past stopping is at it: ask again. */
  | { readonly type: 'executing' }
  | { readonly type: 'unknown' };

export interface EnvironmentStats {
  /** The hard cap of data.mdb, bytes. */
  readonly mapSize: number;
  readonly pageSize: number;
  /** Pages that hold something, LMDB's own included. */
  readonly usedPages: number;
  /** Pages within the file that will be used again. */
  readonly freePages: number;
  /** Bytes of the file that are in use or will be used again. */
  readonly fileBytes: number;
  readonly records: number;
  /** Slots of the reader table that are taken, and how many there are. */
  readonly readers: number;
  readonly maxReaders: number;
  /** The newest revision given out. */
  readonly revision: number;
  readonly durability: Durability;
}

/** Nothing was done, since another process did not let go of a lock for so long. */
export function lockHeld(seconds: number): WafStateError {
  return new WafStateError(
    'unavailable',
    `another process has held the write lock of the LMDB environment for ${seconds} s (writerTimeout): it is stopped, or its disk stalls; let it go on or end it, and try again`,
    { details: { option: 'writerTimeout', limit: seconds } },
  );
}

export function readersFull(maxReaders: number): WafStateError {
  return new WafStateError(
    'capacity_exceeded',
    `all ${maxReaders} slots of the reader table are taken by living threads; close some, or close the environment everywhere and open it with a larger maxReaders`,
    { details: { option: 'maxReaders', limit: maxReaders } },
  );
}

export function foreignEnvironment(): WafStateError {
  return new WafStateError(
    'corrupt_data',
    'openLmdb: the environment has no note by wafstate: it belongs to another program; choose another path',
    { details: { option: 'path' } },
  );
}

export function otherFormat(ours: number, theirs: number): WafStateError {
  return new WafStateError(
    'corrupt_data',
    `openLmdb: the environment has format ${theirs}, this wafstate reads format ${ours}; use the version that made it, or choose another path`,
    { details: { option: 'path', limit: ours, actual: theirs } },
  );
}
