import { createHash } from 'node:crypto';
import type { ByteString } from '../contract/bytes.js';
import { INT64_MAX, INT64_MIN } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import type { Variable } from '../contract/snapshot.js';
import { COLLECTION_SPACES, type CollectionName, type RecordName } from '../contract/space.js';
import type { StoredRecord } from '../record/record.js';
import { typescriptCodec } from '../record/typescript/codec.js';
import { EXPORT_VERSION, type ExportCounts } from './export-format.js';

/** A longer line than any record can make: the largest value, every byte of it three characters. */
const MAX_LINE_BYTES = 64 * 2 ** 20;

/** Something is wrong with the text; `line` counts from 1. */
function malformed(line: number, what: string): WafStateError {
  return new WafStateError('corrupt_data', `line ${line} of the export ${what}; nothing of it was imported`);
}

/**
 * The records of an export, encoded and checked, in their order. Throws `corrupt_data` at the first line that breaks the grammar, at a record that
 * none can be, and where the end is missing or its counts or digest do not fit: whoever needs to know that all is sound reads to the
 * end before using any. Memory: one record.
 */
export async function* readExport(
  text: AsyncIterable<Buffer>,
): AsyncGenerator<StoredRecord & { readonly bytes: Uint8Array }> {
  const digest = createHash('sha256');
  const counts = { records: 0, variables: 0, unreadable: 0, damaged: 0 };
  let number = 0;
  let open: OpenRecord | undefined;
  let ended = false;
  for await (const line of rawLines(text)) {
    number++;
    if (ended) throw malformed(number, 'follows its end');
    const [kind = '', ...words] = line.split(' ');
    if (number === 1) requireHeader(kind, words);
    if (kind === 'variable') {
      if (open === undefined) throw malformed(number, 'is a variable without a record');
      counts.variables++;
      open.add(new Fields(words, number), number);
    } else {
      if (open !== undefined) yield open.finish();
      open = undefined;
    }
    switch (kind) {
      case 'wafstate-export':
        if (number !== 1) throw malformed(number, 'is a second beginning');
        break;
      case 'variable':
        break;
      case 'record':
        counts.records++;
        open = new OpenRecord(new Fields(words, number), number);
        break;
      case 'unreadable':
        counts.unreadable++;
        break;
      case 'damaged':
        counts.damaged++;
        break;
      case 'end':
        requireEnd(new Fields(words, number), counts, digest.digest('hex'), number);
        ended = true;
        break;
      default:
        throw malformed(number, 'begins with no known word');
    }
    if (!ended) digest.update(`${line}\n`, 'latin1');
  }
  if (!ended) throw malformed(number + 1, 'is missing: it is cut short');
}

function requireHeader(kind: string, words: readonly string[]): void {
  if (kind !== 'wafstate-export') throw malformed(1, 'is not the beginning of an export');
  const version = new Fields(words, 1).integer('version', 1n, INT64_MAX);
  if (version !== BigInt(EXPORT_VERSION))
    throw malformed(1, `is of version ${version}, this build reads ${EXPORT_VERSION}`);
}

function requireEnd(fields: Fields, counts: ExportCounts, digest: string, line: number): void {
  for (const [name, count] of Object.entries(counts)) {
    const told = fields.integer(name, 0n, INT64_MAX);
    if (told !== BigInt(count)) throw malformed(line, `counts ${told} ${name}, and there are ${count}`);
  }
  if (fields.bytes('sha256') !== digest)
    throw malformed(line, 'has another digest: something before it was changed');
  fields.done();
}

/** A record whose variables follow. */
class OpenRecord {
  readonly #line: number;
  readonly #record: Omit<StoredRecord, 'variables'>;
  readonly #variables = new Map<ByteString, Variable>();

  constructor(fields: Fields, line: number) {
    this.#line = line;
    this.#record = {
      name: fields.name(),
      revision: Number(fields.integer('revision', 1n, BigInt(Number.MAX_SAFE_INTEGER))),
      facts: {
        created: fields.integer('created'),
        updated: fields.integer('updated'),
        updateCount: Number(fields.integer('updates', 1n, 2n ** 48n - 1n)),
        timeout: fields.has('timeout') ? fields.integer('timeout', 1n) : undefined,
      },
    };
    fields.done();
  }

  add(fields: Fields, line: number): void {
    const name = fields.bytes('name');
    if (this.#variables.has(name)) throw malformed(line, 'repeats a variable');
    this.#variables.set(name, {
      value: fields.has('value') ? fields.bytes('value') : undefined,
      deadline: fields.has('deadline') ? fields.integer('deadline') : undefined,
      clock: fields.has('clock') ? fields.integer('clock') : undefined,
    });
    fields.done();
  }

  finish(): StoredRecord & { readonly bytes: Uint8Array } {
    const record = { ...this.#record, variables: this.#variables };
    try {
      return { ...record, bytes: typescriptCodec.encode(record) };
    } catch (error) {
      throw error instanceof WafStateError
        ? malformed(this.#line, `begins what cannot be a record: ${error.message}`)
        : error;
    }
  }
}

/** The `name=value` words of a line, each to be taken once. */
class Fields {
  readonly #fields = new Map<string, string>();
  readonly #line: number;

  constructor(words: readonly string[], line: number) {
    this.#line = line;
    for (const word of words) {
      const split = word.indexOf('=');
      const name = word.slice(0, split);
      if (split < 1 || this.#fields.has(name))
        throw malformed(line, 'has a word that is no name=value, or one twice');
      this.#fields.set(name, word.slice(split + 1));
    }
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  bytes(name: string): ByteString {
    const value = this.#take(name);
    if (!/^(?:[\x21-\x24\x26-\x7e]|%[0-9A-F]{2})*$/.test(value))
      throw malformed(this.#line, `has bytes in '${name}' that are to be written as %XX`);
    return value.replace(/%(..)/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ) as ByteString;
  }

  integer(name: string, least = INT64_MIN, most = INT64_MAX): bigint {
    const value = this.#take(name);
    if (/^(?:0|-?[1-9]\d{0,18})$/.test(value)) {
      const number = BigInt(value);
      if (number >= least && number <= most) return number;
    }
    throw malformed(this.#line, `has no integer from ${least} to ${most} in '${name}'`);
  }

  name(): RecordName {
    const word = this.bytes('space');
    const space = Object.hasOwn(COLLECTION_SPACES, word)
      ? COLLECTION_SPACES[word as unknown as CollectionName]
      : /^[1-9]\d{0,2}$/.test(word)
        ? Number(word)
        : 0;
    const [applicationId, key] = [this.bytes('application'), this.bytes('key')];
    if (space === 0 || space > 255 || applicationId.length > 255 || key.length < 1 || key.length > 1024)
      throw malformed(this.#line, 'names no record');
    return { space, applicationId, key };
  }

  /** Nothing is left that nobody asked for. */
  done(): void {
    for (const name of this.#fields.keys())
      throw malformed(this.#line, `has an unknown field '${name.slice(0, 32)}'`);
  }

  #take(name: string): string {
    const value = this.#fields.get(name);
    if (value === undefined) throw malformed(this.#line, `has no '${name}'`);
    this.#fields.delete(name);
    return value;
  }
}

/** Lines as Latin-1, without their ends; a last line without one is an error, since the text may be cut there. */
async function* rawLines(text: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let bytes = 0;
  let number = 0;
  for await (const chunk of text) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      number++;
      yield Buffer.concat(parts).toString('latin1');
      parts = [];
      bytes = 0;
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
    bytes += chunk.length - start;
    if (bytes > MAX_LINE_BYTES) throw malformed(number + 1, `is over ${MAX_LINE_BYTES} bytes long`);
  }
  if (bytes > 0) throw malformed(number + 1, 'has no end: the export is cut short');
}
