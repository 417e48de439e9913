import type { Clock } from '../../contract/clock.js';
import { WafStateError } from '../../contract/errors.js';
import {
  booleanOption,
  choiceOption,
  clockOption,
  type NumberRange,
  numberOption,
  refuseUnknownOptions,
} from '../../contract/options.js';
import type { Durability } from './layout.js';

export interface LmdbOptions {
  /** The environment's directory. Its parent must exist. */
  readonly path: string;
  /**
   * The most bytes that data.mdb may grow to, 1 MiB to 16 TiB; default 1 GiB. Address space is taken at once, disk only as
   * needed. Beyond it a commit is `capacity_exceeded`. May differ from one open to the next.
   */
  readonly mapSize?: number | undefined;
  /**
   * `durable` (default): acknowledged = on disk. `relaxed`: acknowledged = visible to all processes; a crash of the process
   * loses nothing, a power cut may lose the last `syncInterval` or damage the file. Noted in the environment at creation.
   */
  readonly durability?: Durability | undefined;
  /** Of `relaxed`: seconds between two syncs, 0.01 to 3600; default 1. */
  readonly syncInterval?: number | undefined;
  /** Threads of all processes that read at the same time, 1 to 65536; default 256. Fixed by whoever opens a closed environment. */
  readonly maxReaders?: number | undefined;
  /** Permission bits of the files that are made; default 0o600. */
  readonly mode?: number | undefined;
  /** Permission bits of the directories that are made; default 0o700. */
  readonly directoryMode?: number | undefined;
  /** Make the environment, and the last component of its path, where there is none. Default true. */
  readonly create?: boolean | undefined;
  /**
   * `none` (default): meta pages, length of the file and the roots of its trees are checked before liblmdb sees it. `full`: everything is read
   * and checked by another process first, every page and every record, and any fault refuses the open with `corrupt_data`.
   * Costs a start of Node and a second for some 100 MiB; the environment may be in use by other processes meanwhile.
   */
  readonly integrity?: 'none' | 'full' | undefined;
  /** Refuse commits and cleanups; no writer is started, nothing is made. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Seconds between two sweeps of what has expired, up to 86400; default 60, 0 = none. One process at a time sweeps. */
  readonly cleanupInterval?: number | undefined;
  /** The clock of the sweeps; default the system's. */
  readonly clock?: Clock | undefined;
  /** Commits that may wait or be in flight, 1 to 1,000,000; default 65,536. Beyond: `queue_full` at once. */
  readonly queueRequests?: number | undefined;
  /** The same in encoded bytes, 64 KiB to 1 GiB; default 64 MiB. A single commit that is larger is `capacity_exceeded`. */
  readonly queueBytes?: number | undefined;
  /** Seconds without a sign of the writer after which it is declared lost, 1 to 3600; default 30. */
  readonly writerTimeout?: number | undefined;
  /**
   * `auto` (default): C++ where the addon loads, else the `lmdb` package. Both use the same files; one process must not open
   * one environment both ways.
   */
  readonly implementation?: 'auto' | 'native' | 'typescript' | undefined;
}

/** All of `LmdbOptions`, checked, with the defaults in place. */
export type ResolvedLmdbOptions = { readonly [K in keyof LmdbOptions]-?: NonNullable<LmdbOptions[K]> };

const OWNER = 'openLmdb';

const NUMBERS = {
  mapSize: { initial: 2 ** 30, least: 2 ** 20, most: 2 ** 44, unit: 'bytes' },
  syncInterval: { initial: 1, least: 0.01, most: 3600, unit: 'seconds', fractions: true },
  maxReaders: { initial: 256, least: 1, most: 65_536, unit: 'readers' },
  mode: { initial: 0o600, least: 0o600, most: 0o777, unit: 'permission bits', octal: true },
  directoryMode: { initial: 0o700, least: 0o700, most: 0o777, unit: 'permission bits', octal: true },
  cleanupInterval: { initial: 60, least: 0, most: 86_400, unit: 'seconds', fractions: true },
  queueRequests: { initial: 65_536, least: 1, most: 1_000_000, unit: 'commits' },
  queueBytes: { initial: 64 * 2 ** 20, least: 64 * 2 ** 10, most: 2 ** 30, unit: 'bytes' },
  writerTimeout: { initial: 30, least: 1, most: 3600, unit: 'seconds', fractions: true },
} as const satisfies Record<string, NumberRange>;

const NAMES = [
  'path',
  'durability',
  'create',
  'integrity',
  'readOnly',
  'clock',
  'implementation',
  ...Object.keys(NUMBERS),
] as readonly string[];

/** Throws `invalid_option` for an unknown name, a value of the wrong kind or one out of range. */
export function resolveLmdbOptions(options: LmdbOptions): ResolvedLmdbOptions {
  refuseUnknownOptions(OWNER, options, NAMES);
  const number = (name: keyof typeof NUMBERS): number =>
    numberOption(OWNER, name, options[name], NUMBERS[name]);
  return {
    path: pathOption(options.path),
    mapSize: mapSizeOption(options.mapSize),
    durability: choiceOption(OWNER, 'durability', options.durability, ['durable', 'relaxed']),
    syncInterval: number('syncInterval'),
    maxReaders: number('maxReaders'),
    mode: number('mode'),
    directoryMode: number('directoryMode'),
    create: booleanOption(OWNER, 'create', options.create, true),
    integrity: choiceOption(OWNER, 'integrity', options.integrity, ['none', 'full']),
    readOnly: booleanOption(OWNER, 'readOnly', options.readOnly, false),
    cleanupInterval: number('cleanupInterval'),
    clock: clockOption(OWNER, options.clock),
    queueRequests: number('queueRequests'),
    queueBytes: number('queueBytes'),
    writerTimeout: number('writerTimeout'),
    implementation: choiceOption(OWNER, 'implementation', options.implementation, [
      'auto',
      'native',
      'typescript',
    ]),
  };
}

function pathOption(path: unknown): string {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return path;
  throw new WafStateError(
    'invalid_option',
    path === undefined
      ? `${OWNER}: path is missing; it names the directory that holds the environment`
      : `${OWNER}: path must be the name of a directory, without NUL`,
    { details: { option: 'path' } },
  );
}

/** Shifts in JavaScript wrap at 32 bits, so the C way to write 4 GiB asks for one byte. */
function mapSizeOption(mapSize: number | undefined): number {
  const wrapped = typeof mapSize === 'number' && Number.isInteger(mapSize) && mapSize > 0 && mapSize <= 4096;
  if (!wrapped) return numberOption(OWNER, 'mapSize', mapSize, NUMBERS.mapSize);
  throw new WafStateError(
    'invalid_option',
    `${OWNER}: mapSize is ${mapSize} bytes, the least is ${NUMBERS.mapSize.least}; 1 << 32 is 1 in JavaScript, write 2 ** 32`,
    { details: { option: 'mapSize', limit: NUMBERS.mapSize.least, actual: mapSize } },
  );
}
