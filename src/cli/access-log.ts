import { INT64_MAX, INT64_MIN } from '../contract/clock.js';
import { readInput } from './input.js';

/** One request of a log: who, and when in nanoseconds since the epoch. */
export interface LogEntry {
  readonly address: string;
  readonly time: bigint;
}

/** What rules can see of a request that was logged. */
export interface LoggedRequest extends LogEntry {
  readonly method: string;
  readonly uri: string;
  readonly httpVersion: string;
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

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

// "request" status bytes, and in the combined format "referer" "agent"; within quotes a backslash escapes.
const REQUEST =
  /\] "([A-Z]{1,32}) ([^ "\\]*(?:\\.[^ "\\]*)*) HTTP\/(\d\.\d)" (\d{3}) (?:\d+|-)(?: "([^"\\]*(?:\\.[^"\\]*)*)" "([^"\\]*(?:\\.[^"\\]*)*)")?/;

/** The request of one line; undefined where the line or its request is malformed. A log tells no headers but these two. */
export function parseRequest(line: string): LoggedRequest | undefined {
  const entry = parseLine(line);
  const match = entry && REQUEST.exec(line);
  if (entry === undefined || match === null || match === undefined) return undefined;
  const [, method = '', uri = '', httpVersion = '', status, referer = '-', agent = '-'] = match;
  const headers = [
    ['User-Agent', agent],
    ['Referer', referer],
  ] as const;
  return {
    ...entry,
    method,
    uri: withoutEscapes(uri),
    httpVersion,
    status: Number(status),
    headers: headers
      .filter(([, value]) => value !== '-')
      .map(([name, value]) => [name, withoutEscapes(value)]),
  };
}

/** As nginx and Apache escape: `\xHH`, `\"`, `\\`. */
function withoutEscapes(text: string): string {
  return text.replace(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, character: string) =>
    hex === undefined ? character : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/**
 * The lines of a log, as they come: of a file, or of standard input for `-`, plain or gzip. A line over the bound comes out as undefined. Throws
 * what `readInput` throws.
 */
export async function* readLines(path: string): AsyncGenerator<string | undefined> {
  let rest: Buffer = Buffer.alloc(0);
  let overlong = false;
  for await (const chunk of readInput(path, 'log')) {
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
