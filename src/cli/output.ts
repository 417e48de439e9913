import { once } from 'node:events';
import { fstatSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { errnoOf, systemError } from '../contract/system-error.js';

const STANDARD_OUTPUT = 1;

/** Standard output takes no more; the message says why. */
export class OutputError extends Error {}

/**
 * A file or device, which Node writes synchronously. The catch: its stream makes one write(2) of a piece and takes a short count, which is what
 * a disk gives that has just filled up, for the whole: text would be cut off and the command end as done.
 */
function isFile(): boolean {
  const stats = fstatSync(STANDARD_OUTPUT);
  return stats.isFile() || (stats.isCharacterDevice() && !isatty(STANDARD_OUTPUT));
}

/** Text to standard output, all of it. Throws `OutputError` where that is a file; what a pipe refuses comes to `onOutputError`. */
export function print(text: string): void {
  if (isFile()) writeAll(Buffer.from(text, 'utf8'));
  else process.stdout.write(text);
}

/** The same for much of it, Latin-1: resolves when there is room for more. */
export async function printBytes(text: string): Promise<void> {
  if (isFile()) writeAll(Buffer.from(text, 'latin1'));
  else if (!process.stdout.write(text, 'latin1')) await once(process.stdout, 'drain');
}

function writeAll(bytes: Buffer): void {
  try {
    for (let done = 0; done < bytes.byteLength; )
      done += writeSync(STANDARD_OUTPUT, bytes, done, bytes.byteLength - done);
  } catch (error) {
    throw outputError(error);
  }
}

/** What becomes of an error that a pipe gives when the command has gone on. `end` ends the process. */
export function onOutputError(end: (error: OutputError | 'reader gone') => never): void {
  process.stdout.on('error', (error) => end(errnoOf(error) === 'EPIPE' ? 'reader gone' : outputError(error)));
  process.stderr.on('error', (error) => {
    // Who closed it, or has no room for it, wants no messages; the status still tells.
    if (errnoOf(error) === undefined) throw error;
  });
}

function outputError(cause: unknown): OutputError {
  return new OutputError(systemError(cause, 'write to standard output').message, { cause });
}
