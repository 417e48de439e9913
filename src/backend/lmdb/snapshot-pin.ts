import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { WafStateError } from '../../contract/errors.js';
import { startProgram } from './own-process.js';

/** An open waits at the gate for one write transaction at most; longer than this, a writer hangs. */
const TIMEOUT_MILLISECONDS = 30_000;

/**
 * Keeps the pages of the newest snapshot from being used again, so that they can be read without liblmdb beside a live writer. Takes a
 * slot of the reader table in a process of its own, because liblmdb may crash on what it is opened for. Resolves to what lets go;
 * rejects with `unavailable` where that process cannot open the environment.
 */
export async function pinSnapshot(directory: string): Promise<() => void> {
  const { child, ended } = startProgram<ChildProcessByStdio<Writable, Readable, null>>(
    './pin-child.js',
    directory,
    ['pipe', 'pipe', 'ignore'],
  );
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MILLISECONDS);
  // Its death says itself on standard output; a pipe that breaks says no more.
  child.stdin.on('error', () => undefined);
  const pinned = await Promise.race([once(child.stdout, 'data').then(() => true), ended.then(() => false)]);
  clearTimeout(timer);
  if (!pinned) {
    throw new WafStateError(
      'unavailable',
      `a snapshot of ${directory} cannot be kept while it is read: LMDB does not open it; stop its writers, and try again`,
      { details: { option: 'path' } },
    );
  }
  return () => child.stdin.end();
}
