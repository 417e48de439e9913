import { join } from 'node:path';
import { DATA_FILE } from './layout.js';
import { resolveLmdbOptions } from './options.js';
import { preflight } from './preflight.js';
import { openUnread } from './typescript-opening.js';

/**
 * A process of its own that keeps the newest snapshot of an environment: `node pin-child.js DIRECTORY`. It says `pinned` when
 * no page of that snapshot will be used again, and ends with its standard input.
 */
const options = resolveLmdbOptions({ path: process.argv[2] as string, create: false, readOnly: true });
const { directory, gate } = preflight(options, () => false);
const { data } = await openUnread({ ...options, directory, gate });
const snapshot = data.useReadTransaction();
process.stdout.write(`pinned ${join(directory, DATA_FILE)}\n`);
process.stdin.resume();
process.stdin.on('end', () => {
  snapshot.done();
  process.exit();
});
