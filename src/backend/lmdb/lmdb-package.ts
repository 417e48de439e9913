import { createRequire } from 'node:module';
import type { Key, RootDatabase } from 'lmdb';
import type { ByteString } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';

/**
 * The one place that opens an environment by the `lmdb` package, and what of it is used. Its own declarations leave out the
 * parts that the engine stands on.
 */
export interface PackageEnvironment {
  /**
   * The value, in a buffer that the next call overwrites, and whose bytes run on beyond `length`. Inside a write transaction
   * it sees that transaction.
   */
  getBinaryFast(key: PackageKey): Uint8Array | undefined;
  putSync(key: PackageKey, value: Uint8Array): void;
  removeSync(key: PackageKey): boolean;
  /** Rolls back where `action` throws. `action` must not be asynchronous, nor return a promise. */
  transactionSync<T>(action: () => T): T;
  /** The next read sees the newest commit: without it, it may see the one of the last event loop turn. */
  resetReadTxn(): void;
  getRange(options: PackageRange): Iterable<{ readonly key: ByteString; readonly value: Uint8Array }>;
  /** Takes the newest snapshot and keeps it until `done`: its pages are not used again meanwhile. */
  useReadTransaction(): { done(): void };
  getStats(): PackageStats;
  /** Frees the slots that dead processes left in the reader table. */
  readerCheck(): number;
  close(): Promise<void>;
  /** Calls back when everything committed is on disk. */
  sync(done: (error?: unknown) => void): void;
  readonly db: { stat(): TreeStats };
  readonly env: { info(): { readonly mapSize: number; readonly lastPageNumber: number } };
}

export type PackageKey = ByteString | Buffer;

export interface PackageRange {
  readonly start: ByteString;
  readonly exclusiveStart: boolean;
  readonly limit: number;
  /** An iterator of one snapshot must be run to its end, or it pins old pages. */
  readonly snapshot: true;
}

/** Pages of one tree. Inside a write transaction: as of that transaction. */
export interface TreeStats {
  readonly pageSize: number;
  readonly treeDepth: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
  readonly entryCount: number;
}

export interface PackageStats extends TreeStats {
  readonly lastPageNumber: number;
  readonly maxReaders: number;
  readonly numReaders: number;
  readonly free: TreeStats;
}

export interface PackageOpenOptions {
  readonly mapSize: number;
  readonly maxReaders: number;
  readonly mode: number;
  readonly relaxed: boolean;
}

/**
 * Byte strings go straight into the package's key buffer: no Buffer of their own is made for them. The package takes
 * encoders of its own although its declarations know none.
 */
const byteStringKeys = {
  writeKey(key: PackageKey, target: Buffer, start: number): number {
    if (typeof key !== 'string') {
      target.set(key, start);
      return start + key.length;
    }
    return start + target.write(key, start, 'latin1');
  },
  readKey(source: Buffer, start: number, end: number): ByteString {
    return source.toString('latin1', start, end) as ByteString;
  },
};

type LmdbPackage = typeof import('lmdb');

let loaded: LmdbPackage | undefined;

/**
 * Loads the package at the first call, for it loads its binary at once and throws where there is none: what needs no package must work
 * without it. Throws `missing_feature`.
 */
export function loadPackage(): LmdbPackage {
  try {
    loaded ??= createRequire(import.meta.url)('lmdb') as LmdbPackage;
    return loaded;
  } catch (cause) {
    const binary = `@lmdb/lmdb-${process.platform}-${process.arch}`;
    throw new WafStateError(
      'missing_feature',
      `openLmdb: the lmdb package, by which LMDB is used in TypeScript, does not load: ${firstLine(cause)}; install its binary, the optional package ${binary} (npm install --include=optional), or use the addon: implementation 'native'`,
      { details: { option: 'implementation' }, cause },
    );
  }
}

/** Node adds the chain of requires, with paths of the machine. */
function firstLine(cause: unknown): string {
  return cause instanceof Error ? (cause.message.split('\n')[0] as string) : String(cause);
}

/**
 * Opens what `preflight` has checked. `noSubdir` and `overlappingSync` are never left to the package: it takes a path with a
 * dot for a file, and overlapped flushing is slower for one transaction a batch and unsafe across processes.
 */
export function openPackageEnvironment(directory: string, options: PackageOpenOptions): PackageEnvironment {
  const { open } = loadPackage();
  const environment: RootDatabase<Uint8Array, Key> = open({
    path: directory,
    noSubdir: false,
    overlappingSync: false,
    encoding: 'binary',
    keyEncoder: byteStringKeys,
    maxDbs: 1,
    mapSize: options.mapSize,
    maxReaders: options.maxReaders,
    permissionsMode: options.mode,
    noSync: options.relaxed,
    cache: false,
  } as Parameters<typeof open>[0]);
  return environment as unknown as PackageEnvironment;
}
