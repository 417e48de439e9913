import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { WafStateError } from '../contract/errors.js';
import { errnoOf, systemError } from '../contract/system-error.js';

/**
 * The bytes of a file, or of standard input for `-`; those of a gzip file unpacked, which is told by its first two bytes and not by its name.
 * `kind` is what the file is to be: `log`. Throws what the system refuses as the code for it, and `corrupt_data` for gzip that is damaged
 * or cut short.
 */
export async function* readInput(path: string, kind: string): AsyncGenerator<Buffer> {
  const name = path === '-' ? `the ${kind} of standard input` : `the ${kind} ${path}`;
  try {
    yield* plain(path === '-' ? process.stdin : createReadStream(path));
  } catch (cause) {
    if (errnoOf(cause) !== undefined)
      throw systemError(cause, `read ${name}`, { details: { option: 'path' } });
    if (!isZlibError(cause)) throw cause;
    throw new WafStateError(
      'corrupt_data',
      `${name} cannot be read: ${cause.message}: its gzip is damaged or cut short`,
      {
        cause,
      },
    );
  }
}

function isZlibError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

async function* plain(source: Readable): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let head: Buffer = Buffer.alloc(0);
  let done = false;
  while (head.length < 2 && !done) {
    const next = await chunks.next();
    done = next.done === true;
    if (!done) head = Buffer.concat([head, next.value]);
  }
  const all = prepend(head, done ? undefined : chunks);
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    yield* all;
    return;
  }
  const unzip = createGunzip();
  // Errors of the source reach the reader through the pipe's end, not here.
  pipeline(Readable.from(all), unzip, () => undefined);
  yield* unzip as AsyncIterable<Buffer>;
}

async function* prepend(head: Buffer, chunks: AsyncIterator<Buffer> | undefined): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  if (chunks === undefined) return;
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
}
