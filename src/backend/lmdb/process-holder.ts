import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { WafStateError } from '../../contract/errors.js';
import { nativeStatus } from '../../record/addon.js';
import { DATA_FILE, GATE_DIRECTORY, NATIVE_GATE_MAP_BYTES, PACKAGE_GATE_MAP_BYTES } from './layout.js';

/**
 * Who else in this process has an environment open: the other implementation in another thread, another copy of wafstate, or the
 * application itself by the `lmdb` package. liblmdb's locks belong to the process, so a second copy of it takes the first for
 * a process that has died, and lays out the lock table anew under its feet.
 *
 * No variable is seen by all threads and by all copies of a package, but the kernel knows what is mapped. Only Linux tells; elsewhere
 * the registry of the thread is all there is.
 */
const MAPS = '/proc/self/maps';

interface Mapping {
  readonly file: string;
  readonly bytes: number;
}

/** The library by which this copy of wafstate opens environments: the file of the addon, or of the `lmdb` package. */
export function libraryOf(implementation: 'native' | 'typescript'): string {
  if (implementation === 'native') return nativeStatus().path ?? 'the addon';
  return createRequire(import.meta.url).resolve('lmdb');
}

/** How often, and after how long, the answer must be the same before it is believed. */
const LOOKS = 5;
const BETWEEN_LOOKS_MILLISECONDS = 10;

/**
 * Rejects with `invalid_option` where another liblmdb of this process has the environment open. `sharesNatively`: whether the addon of this
 * copy has it open in another thread. REQUIRES: this thread has not.
 *
 * The catch: other threads open and close meanwhile, and no look at the mappings and at the addon is one look. So a refusal has to be
 * seen several times; that nobody holds the environment, once.
 */
export async function requireOneLibrary(
  directory: string,
  implementation: 'native' | 'typescript',
  sharesNatively: () => boolean,
): Promise<void> {
  for (let look = 1; ; look++) {
    try {
      lookForOthers(directory, implementation, sharesNatively);
      return;
    } catch (error) {
      if (look === LOOKS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_LOOKS_MILLISECONDS));
  }
}

function lookForOthers(
  directory: string,
  implementation: 'native' | 'typescript',
  sharesNatively: () => boolean,
): void {
  const mappings = readMappings();
  const data = join(directory, DATA_FILE);
  if (!mappings.some(({ file }) => file === data)) return;
  const holder = holderOf(mappings, join(directory, GATE_DIRECTORY, DATA_FILE));
  if (holder === implementation && (holder === 'typescript' || sharesNatively())) return;
  const library = libraryOf(implementation);
  if (holder === 'other') {
    throw refusal(
      'path',
      `this process has ${data} open by other means than wafstate (${others(mappings, library)}), and wafstate would open it by ${library}; close it there first, or open it in another process`,
    );
  }
  if (holder === implementation) {
    throw refusal(
      'implementation',
      `another copy of wafstate in this process has ${directory} open (${others(mappings, library)}), this one uses ${library}; install one copy, or close it there first`,
    );
  }
  throw refusal(
    'implementation',
    `another thread of this process has ${directory} open with implementation ${holder}, not ${implementation}; open it in the same way, or close it first`,
  );
}

function holderOf(mappings: readonly Mapping[], gate: string): 'native' | 'typescript' | 'other' {
  const gates = mappings.filter(({ file }) => file === gate).map(({ bytes }) => bytes);
  if (gates.includes(NATIVE_GATE_MAP_BYTES)) return 'native';
  return gates.includes(PACKAGE_GATE_MAP_BYTES) ? 'typescript' : 'other';
}

/** The other loaded addons that bring a liblmdb, by their files' names. */
function others(mappings: readonly Mapping[], library: string): string {
  const loaded = new Set(mappings.map(({ file }) => file));
  const named = [...loaded].filter(
    (file) => file !== library && file.endsWith('.node') && /lmdb|wafstate/.test(file),
  );
  return named.length === 0 ? 'by which library cannot be told' : `loaded are ${named.join(', ')}`;
}

/** `from-to flags offset device inode   path`, where the path has its own blanks, and newlines as `\012`. */
const MAPPING = /^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+ +(\/.*)$/;

function readMappings(): Mapping[] {
  if (process.platform !== 'linux') return [];
  const mappings: Mapping[] = [];
  for (const line of mapsText().split('\n')) {
    const [, from, to, file] = MAPPING.exec(line) ?? [];
    if (from === undefined || to === undefined || file === undefined) continue;
    const bytes = Number(BigInt(`0x${to}`) - BigInt(`0x${from}`));
    mappings.push({ file: file.replaceAll('\\012', '\n'), bytes });
  }
  return mappings;
}

function mapsText(): string {
  try {
    return readFileSync(MAPS, 'utf8');
  } catch (cause) {
    throw new WafStateError(
      'unavailable',
      `openLmdb: cannot read ${MAPS}, which tells whether this process has the environment open already; mount /proc, or free file descriptors`,
      { details: { option: 'path' }, cause },
    );
  }
}

function refusal(option: string, message: string): WafStateError {
  return new WafStateError('invalid_option', `openLmdb: ${message}`, { details: { option } });
}
