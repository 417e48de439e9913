import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataFile } from './file/data-file.js';
import { DATA_FILE } from './layout.js';

/**
 * Whether the newest commit is from before this start of the machine. Then what a relaxed environment holds may have been on its way to
 * disk when the machine stopped, and liblmdb would follow page numbers of pages that never got there. liblmdb notes the
 * start in the meta page on Linux, and 0 elsewhere: there it cannot be told.
 */
export function isFromEarlierBoot(directory: string): boolean {
  const current = bootNumber();
  const path = join(directory, DATA_FILE);
  if (current === undefined || !existsSync(path)) return false;
  const file = DataFile.open(path);
  try {
    const metas = file.metas();
    // What is wrong with the meta pages, preflight has said.
    if (metas === undefined || 'what' in metas) return false;
    const { boot } = metas.newer;
    return boot !== 0 && boot !== current;
  } finally {
    file.close();
  }
}

/** As liblmdb makes it: the first group of hexadecimal digits. */
function bootNumber(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return Number.parseInt(readFileSync('/proc/sys/kernel/random/boot_id', 'latin1'), 16);
  } catch {
    // A sandbox without it: liblmdb has noted 0 there, too.
    return undefined;
  }
}
