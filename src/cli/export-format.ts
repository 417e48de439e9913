import { createHash } from 'node:crypto';
import type { ByteString } from '../contract/bytes.js';
import { COLLECTION_SPACES, type RecordName, spaceName } from '../contract/space.js';
import type { StoredRecord } from '../record/record.js';
import { printable } from './terminal.js';

/**
 * The text form of records: docs/export.md. Lines of words; a word after the first is `name=value`, and a value has `%XX` for every
 * byte that is no printable ASCII, for the blank and for `%`.
 */
export const EXPORT_VERSION = 1;

/** Of what could not be read; to be known, not to be imported. */
export interface Unreadable {
  readonly name: RecordName | undefined;
  readonly key: ByteString;
  readonly reason: string;
}

/** What the last line counts. */
export interface ExportCounts {
  readonly records: number;
  readonly variables: number;
  readonly unreadable: number;
  readonly damaged: number;
}

/** Makes the lines of an export, each with its end, and keeps the digest for the last one. */
export class ExportWriter {
  readonly #digest = createHash('sha256');
  #counts: ExportCounts = { records: 0, variables: 0, unreadable: 0, damaged: 0 };

  get counts(): ExportCounts {
    return this.#counts;
  }

  header(): string {
    return this.#lines([`wafstate-export version=${EXPORT_VERSION}`]);
  }

  record({ name, revision, facts, variables }: StoredRecord): string {
    const timeout = facts.timeout === undefined ? '' : ` timeout=${facts.timeout}`;
    const lines = [
      `record ${nameFields(name)} revision=${revision} created=${facts.created} updated=${facts.updated} updates=${facts.updateCount}${timeout}`,
    ];
    for (const [variable, { value, deadline, clock }] of variables) {
      const words = [`variable name=${encodeWord(variable)}`];
      if (value !== undefined) words.push(`value=${encodeWord(value)}`);
      if (deadline !== undefined) words.push(`deadline=${deadline}`);
      if (clock !== undefined) words.push(`clock=${clock}`);
      lines.push(words.join(' '));
    }
    const { records, variables: count } = this.#counts;
    this.#counts = { ...this.#counts, records: records + 1, variables: count + variables.size };
    return this.#lines(lines);
  }

  unreadable({ name, key, reason }: Unreadable): string {
    this.#counts = { ...this.#counts, unreadable: this.#counts.unreadable + 1 };
    const which = name === undefined ? `entry=${encodeWord(key)}` : nameFields(name);
    return this.#lines([`unreadable ${which} reason=${encodeWord(reason)}`]);
  }

  damaged(page: number, what: string): string {
    this.#counts = { ...this.#counts, damaged: this.#counts.damaged + 1 };
    return this.#lines([`damaged page=${page} what=${encodeWord(what)}`]);
  }

  end(): string {
    const { records, variables, unreadable, damaged } = this.#counts;
    return `end records=${records} variables=${variables} unreadable=${unreadable} damaged=${damaged} sha256=${this.#digest.digest('hex')}\n`;
  }

  #lines(lines: readonly string[]): string {
    const text = `${lines.join('\n')}\n`;
    this.#digest.update(text, 'latin1');
    return text;
  }
}

function nameFields({ space, applicationId, key }: RecordName): string {
  const word = space in SPACE_WORDS ? spaceName(space) : String(space);
  return `space=${word} application=${encodeWord(applicationId)} key=${encodeWord(key)}`;
}

const SPACE_WORDS: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(COLLECTION_SPACES).map(([word, space]) => [space, word]),
);

function encodeWord(bytes: string): string {
  return printable(bytes).replaceAll(' ', '%20');
}
