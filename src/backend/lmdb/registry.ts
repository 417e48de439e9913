import { WafStateError } from '../../contract/errors.js';

/** How this thread has an environment open. */
export interface Opening {
  readonly implementation: 'native' | 'typescript';
  /** The file of the liblmdb: two copies of the package in one process may have two of them. */
  readonly library: string;
  readonly mapSize: number;
  readonly maxReaders: number;
  readonly durability: string;
  readonly readOnly: boolean;
}

interface Entry {
  readonly opening: Opening;
  count: number;
}

const KEY = Symbol.for('wafstate.lmdb.environments');

/** By directory. On globalThis, so that the ES module and the CommonJS copy of the package see the same. */
function entries(): Map<string, Entry> {
  const holder = globalThis as { [KEY]?: Map<string, Entry> };
  holder[KEY] ??= new Map();
  return holder[KEY];
}

export function isOpen(directory: string): boolean {
  return entries().has(directory);
}

/**
 * Notes an opening; the function returned takes it back. A second one of the same environment is a backend of its own, with a
 * queue and a writer of its own, over the same environment: it must be opened in the same way, since liblmdb's locks belong
 * to the process and do not bear two copies of it.
 */
export function claim(directory: string, opening: Opening): () => void {
  const open = entries();
  let entry = open.get(directory);
  if (entry === undefined) {
    entry = { opening, count: 0 };
    open.set(directory, entry);
  } else {
    requireSame(directory, entry.opening, opening);
  }
  const claimed = entry;
  claimed.count++;
  return () => {
    claimed.count--;
    if (claimed.count === 0) open.delete(directory);
  };
}

function requireSame(directory: string, theirs: Opening, ours: Opening): void {
  for (const option of Object.keys(ours) as (keyof Opening)[]) {
    if (theirs[option] === ours[option]) continue;
    throw new WafStateError(
      'invalid_option',
      `openLmdb: this process has ${directory} open with ${option} ${String(theirs[option])}, not ${String(ours[option])}; open it in the same way, or close it first`,
      { details: { option } },
    );
  }
}
