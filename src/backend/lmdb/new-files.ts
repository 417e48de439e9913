import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DATA_FILE } from './layout.js';
import { fileError } from './preflight.js';

/**
 * Puts on disk what no commit does: the gate's file, since nothing is ever committed in it, and the names of all files. Without
 * that, a power cut could leave an environment that holds every acknowledged commit and cannot be opened. To be called before the first
 * commit can be acknowledged; costs little where nothing is new.
 */
export async function syncNewFiles(directory: string, gate: string): Promise<void> {
  for (const path of [join(gate, DATA_FILE), gate, directory, dirname(directory)]) {
    try {
      const file = await open(path, 'r');
      try {
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      throw fileError(error, `sync ${path}`);
    }
  }
}
