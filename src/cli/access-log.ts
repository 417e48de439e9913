import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { INT64_MAX, INT64_MIN } from '../contract/clock.js';

/** One request of a log: who, and when in nanoseconds since the epoch. */
export interface LogEntry {
  readonly address: string;
  readonly time: bigint;
}

/** The log cannot be opened or breaks off; the message names it. */
export class LogReadError extends Error {}

/** A longer line is malformed; it is skipped in bounded memory. */
export const MAX_LINE_BYTES = 64 * 1024;

// host ident user [day/month/year:hour:minute:second zone] "request" … : the common and the combined format. The
// user may hold blanks, so what lies between is any text without a bracket. An address is ASCII.
const LINE =
  /^([!-~]{1,1024}) [^[]*\[(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})\] "/;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The entry of one line in the common or combined log format; undefined where it is neither. */
export function parseLine(line: string): LogEntry | undefined {
  const match = LINE.exec(line);
  if (match === null) return undefined;
  const [, address, day, monthName, year, hour, minute, second, sign, zoneHours, zoneMinutes] =
    match as unknown as string[];
  const month = MONTHS.indexOf(monthName as string);
  if (month < 0) return undefined;
  const [d, h, m, s] = [Number(day), Number(hour), Number(minute), Number(second)];
  const local = Date.UTC(Number(year), month, d, h, m, s);
  // Date.UTC carries an impossible day or hour over into the next: such a line is damaged. 60 is a leap second.
  if (new Date(Date.UTC(Number(year), month, d)).getUTCDate() !== d) return undefined;
  if (h > 23 || m > 59 || s > 60 || Number(zoneMinutes) > 59) return undefined;
  const offset = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000;
  const milliseconds = sign === '-' ? local + offset : local - offset;
  const time = BigInt(milliseconds) * 1_000_000n;
  return time > INT64_MIN && time < INT64_MAX ? { address: address as string, time } : undefined;
}

/**
 * The lines of a log, as they come: of a file, or of standard input for `-`; gzip is told by its first two bytes, not by
 * the name. A line over the bound comes out as undefined. Throws `LogReadError`.
 */
export async function* readLines(path: string): AsyncGenerator<string | undefined> {
  try {
    yield* lines(path === '-' ? process.stdin : createReadStream(path));
  } catch (cause) {
    const name = path === '-' ? 'of standard input' : path;
    throw new LogReadError(`the log ${name} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

async function* lines(source: Readable): AsyncGenerator<string | undefined> {
  let rest: Buffer = Buffer.alloc(0);
  let overlong = false;
  for await (const chunk of plain(source)) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const line =
        rest.length === 0 ? chunk.subarray(start, end) : Buffer.concat([rest, chunk.subarray(start, end)]);
      yield overlong || line.length > MAX_LINE_BYTES ? undefined : text(line);
      rest = Buffer.alloc(0);
      overlong = false;
      start = end + 1;
    }
    if (overlong) continue;
    rest = Buffer.concat([rest, chunk.subarray(start)]);
    if (rest.length > MAX_LINE_BYTES) {
      overlong = true;
      rest = Buffer.alloc(0);
    }
  }
  if (overlong) yield undefined;
  else if (rest.length > 0) yield text(rest);
}

// A log is bytes: Latin-1 keeps each of them, and the client's address is ASCII in any case.
function text(line: Buffer): string {
  return line.toString('latin1', 0, line[line.length - 1] === 13 ? line.length - 1 : line.length);
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
