import { type ExecFileSyncOptions, execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Sample } from '../load/closed-loop.js';
import type { Durability } from '../subject.js';

/** The physical limit: bench/limit/limit.c, built with liblmdb as the addon is. */

/** `put` reads and puts in the order of arrival; `tuned` sorts a batch and writes through its cursor. */
export type LimitMethod = 'put' | 'tuned';

export interface LimitRequest {
  readonly directory: string;
  readonly keys: number;
  /** Commits in one transaction. */
  readonly batch: number;
  readonly durability: Durability;
  readonly milliseconds: number;
  readonly method: LimitMethod;
}

const SOURCE = fileURLToPath(new URL('./limit.c', import.meta.url));
// Both decide the layout of what is shared on disk, and are those of binding.gyp.
const LMDB_DEFINES = ['-DMDB_MAXKEYSIZE=0', '-DMDB_USE_ROBUST'];

/**
 * Compiles the program into `directory`, unless it is there from an earlier run, and returns its path. Throws with the
 * compiler's words where it cannot.
 */
export function buildLimit(directory: string): string {
  const lmdb = liblmdbDirectory();
  const compiler = process.env['CC'] ?? 'cc';
  const program = join(
    directory,
    `limit-${fingerprint([SOURCE, join(lmdb, 'mdb.c'), join(lmdb, 'lmdb.h')])}`,
  );
  if (existsSync(program)) return program;
  const object = `${program}.o`;
  const common = ['-O3', '-std=gnu11', ...LMDB_DEFINES, `-I${lmdb}`];
  mkdirSync(directory, { recursive: true });
  execFileSync(compiler, [...common, '-Wall', '-Wextra', '-Werror', '-c', SOURCE, '-o', object], COMPILE);
  const sources = ['mdb.c', 'midl.c', 'chacha8.c'].map((name) => join(lmdb, name));
  // Under its name only once it is whole.
  execFileSync(compiler, [...common, '-w', object, ...sources, '-lpthread', '-o', `${program}.new`], COMPILE);
  renameSync(`${program}.new`, program);
  rmSync(object);
  return program;
}

function fingerprint(files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 12);
}

// The compiler's words come with the error that a failure throws.
const COMPILE: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'pipe'] };

function liblmdbDirectory(): string {
  const require = createRequire(import.meta.url);
  const directory = (require.resolve.paths('lmdb') ?? [])
    .map((modules) => join(modules, 'lmdb', 'dependencies', 'lmdb', 'libraries', 'liblmdb'))
    .find((candidate) => existsSync(candidate));
  if (directory === undefined)
    throw new Error('the sources of liblmdb are not in the installed lmdb package');
  return directory;
}

interface LimitAnswer {
  readonly commits: number;
  readonly seconds: number;
  /** Of whole transactions: median, p99, p99.9. */
  readonly microseconds: readonly [number, number, number];
  /** The first key's record in hexadecimal. */
  readonly record: string;
}

/** One round of the program. Its directory may have been used with the same number of keys before. */
export async function runLimit(program: string, request: LimitRequest): Promise<Sample & { record: string }> {
  const { directory, keys, batch, durability, milliseconds, method } = request;
  mkdirSync(directory, { recursive: true });
  const { stdout } = await promisify(execFile)(program, [
    directory,
    String(keys),
    String(batch),
    durability,
    String(milliseconds / 1000),
    method,
  ]);
  const { commits, seconds, microseconds, record } = JSON.parse(stdout) as LimitAnswer;
  const [p50, p99, p999] = microseconds;
  return {
    operations: commits,
    acknowledged: commits,
    seconds,
    latency: { p50, p99, p999 },
    mainThreadMicroseconds: undefined,
    residentBytes: 0,
    record,
  };
}
