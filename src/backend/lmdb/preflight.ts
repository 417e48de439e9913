import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type ErrorCode, WafStateError } from '../../contract/errors.js';
import { errnoOf, systemError } from '../../contract/system-error.js';
import { inspectDataFile } from './data-file.js';
import { requireFreeDescriptors } from './descriptors.js';
import { refuseNetworkFileSystem } from './file-system.js';
import { DATA_FILE, GATE_DIRECTORY, LOCK_FILE, lockFileBytes } from './layout.js';
import type { ResolvedLmdbOptions } from './options.js';

/**
 * Looks at everything before liblmdb sees it, because an open that fails inside liblmdb takes the process down: a
 * stock LMDB 0.9 file, random bytes, a fifo or a full disk are a segmentation fault or a bus error there. Whatever is
 * wrong is a typed error here that names the path and the fix.
 */

/** Room for the first pages of both environments. */
const FIRST_PAGES_BYTES = 256 * 1024;

/** What a checked path is. */
export interface CheckedEnvironment {
  /** The directory without symbolic links: what identifies the environment in this process. */
  readonly directory: string;
  readonly gate: string;
}

/**
 * Checks the directory and its files, and makes what is missing: the last component of the path, the gate, and both lock files
 * with real zeros. What `isOpen` in this thread was checked then. A lock.mdb that exists is never opened here: closing it
 * again would drop the locks that other threads of this process hold on it. On data.mdb there are none.
 */
export function preflight(
  options: ResolvedLmdbOptions,
  isOpen: (directory: string) => boolean,
): CheckedEnvironment {
  requireFreeDescriptors();
  const directory = environmentDirectory(options);
  const gate = join(directory, GATE_DIRECTORY);
  const environment = { directory, gate };
  if (isOpen(directory)) return environment;
  refuseNetworkFileSystem(directory);
  const data = join(directory, DATA_FILE);
  const made = checkFile(data, 'path') !== undefined && inspectDataFile(data, 'records') === 'environment';
  if (!made && (!options.create || options.readOnly)) {
    throw pathError(
      'not_found',
      `${directory} holds no environment; open it once for writing with create: true`,
    );
  }
  makeDirectory(gate, options.directoryMode);
  requireAccess(gate);
  const gateData = join(gate, DATA_FILE);
  if (checkFile(gateData, 'gate') !== undefined) inspectDataFile(gateData, 'gate');
  requireFreeSpace(
    directory,
    (made ? 0 : FIRST_PAGES_BYTES) + missingLockBytes([directory, gate], options.maxReaders),
  );
  for (const place of [directory, gate]) {
    makeLockFile(place, options);
    makeDataFile(place, options);
  }
  return environment;
}

function environmentDirectory(options: ResolvedLmdbOptions): string {
  const asked = resolve(options.path);
  const parent = dirname(asked);
  if (statOf(parent)?.isDirectory() !== true) {
    throw pathError(
      'not_found',
      `${parent}, the parent of path, is no directory; create it first: only the last component of path is made`,
    );
  }
  const stats = statOf(asked);
  if (stats === undefined) {
    if (lstatOf(asked) !== undefined)
      throw pathError(
        'not_found',
        `${asked} is a symbolic link that leads nowhere; remove it or create its target`,
      );
    if (!options.create || options.readOnly) {
      throw pathError(
        'not_found',
        `there is no environment at ${asked}; open it for writing with create: true to make one`,
      );
    }
    makeDirectory(asked, options.directoryMode);
  } else if (!stats.isDirectory()) {
    throw pathError(
      'invalid_option',
      `${asked} is ${kindOf(stats)}, path must name a directory; choose another path or move it away`,
    );
  }
  requireAccess(asked);
  return realpathSync(asked);
}

/** Not recursive, and no error where it exists: another process may make it at the same time. */
function makeDirectory(directory: string, mode: number): void {
  try {
    mkdirSync(directory, { mode });
    // The umask takes bits away, and a strange one even the owner's.
    chmodSync(directory, mode);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw fileError(error, `make the directory ${directory}`);
    const stats = lstatOf(directory);
    if (stats?.isDirectory() !== true) {
      throw pathError(
        'invalid_option',
        `${directory} is ${stats === undefined ? 'gone' : kindOf(stats)}, a directory is needed there; move it away`,
      );
    }
  }
}

function requireAccess(directory: string): void {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw fileError(error, `read and write in ${directory} (readers too must write to its lock files)`);
  }
}

/** The file's size; undefined where there is none. Symbolic links and special files are refused. */
function checkFile(file: string, role: string): number | undefined {
  const stats = lstatOf(file);
  if (stats === undefined) return undefined;
  if (!stats.isFile()) {
    throw pathError(
      'invalid_option',
      `${file} of ${role} is ${kindOf(stats)}, it must be a regular file; move it away, or choose another path`,
    );
  }
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw fileError(error, `read and write ${file}`);
  }
  return stats.size;
}

function missingLockBytes(directories: readonly string[], maxReaders: number): number {
  return directories.reduce(
    (sum, directory) =>
      sum + Math.max(0, lockFileBytes(maxReaders) - (checkFile(join(directory, LOCK_FILE), LOCK_FILE) ?? 0)),
    0,
  );
}

/** A write to a page of a sparse file on a full disk is a bus error, so the space is made sure of first. */
function requireFreeSpace(directory: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new WafStateError(
    'capacity_exceeded',
    `the disk of ${directory} has ${free} bytes free, opening needs ${bytes}; free some space`,
    {
      details: { option: 'path', limit: free, actual: bytes },
    },
  );
}

/**
 * liblmdb would make lock.mdb sparse. It appears under its name only when it is whole, so that no other process ever opens it half
 * written, or has it overwritten with zeros while in use.
 */
function makeLockFile(directory: string, options: ResolvedLmdbOptions): void {
  const file = join(directory, LOCK_FILE);
  if (lstatOf(file) !== undefined) return;
  const draft = join(directory, `${LOCK_FILE}.${randomBytes(8).toString('hex')}`);
  try {
    const descriptor = openSync(draft, 'wx', options.mode);
    try {
      fchmodSync(descriptor, options.mode);
      writeSync(descriptor, Buffer.alloc(lockFileBytes(options.maxReaders)));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    linkSync(draft, file);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw fileError(error, `make ${basename(file)} in ${directory}`);
  } finally {
    if (lstatOf(draft) !== undefined) unlinkSync(draft);
  }
}

/** Empty, as liblmdb begins one, but with the very permissions that were asked for. */
function makeDataFile(directory: string, { mode }: ResolvedLmdbOptions): void {
  const file = join(directory, DATA_FILE);
  try {
    const descriptor = openSync(file, 'wx', mode);
    try {
      fchmodSync(descriptor, mode);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw fileError(error, `make ${file}`);
  }
}

function statOf(path: string): Stats | undefined {
  return statBy(path, () => statSync(path, { throwIfNoEntry: false }));
}

function lstatOf(path: string): Stats | undefined {
  return statBy(path, () => lstatSync(path, { throwIfNoEntry: false }));
}

function statBy(path: string, stat: () => Stats | undefined): Stats | undefined {
  try {
    return stat();
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw fileError(error, `look at ${path}`);
  }
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a symbolic link';
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a fifo';
  if (stats.isSocket()) return 'a socket';
  if (stats.isFile()) return 'a file';
  return 'a device';
}

function pathError(code: ErrorCode, message: string): WafStateError {
  return new WafStateError(code, `openLmdb: ${message}`, { details: { option: 'path' } });
}

/** What the system refused. */
export function fileError(error: unknown, what: string): WafStateError {
  return systemError(error, what, { owner: 'openLmdb', details: { option: 'path' } });
}
