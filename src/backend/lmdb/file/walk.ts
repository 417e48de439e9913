import { type ByteString, fromBytes } from '../../../contract/bytes.js';
import { WafStateError } from '../../../contract/errors.js';
import type { RecordName } from '../../../contract/space.js';
import { Corruption, corruptionText } from '../../../record/corruption.js';
import { decodeKey, encodeKey } from '../../../record/key.js';
import type { StoredRecord } from '../../../record/record.js';
import { typescriptCodec } from '../../../record/typescript/codec.js';
import {
  CURSOR_KEY,
  type Durability,
  decodeEnvironment,
  ENVIRONMENT_KEY,
  FIRST_RECORD_KEY,
  MAX_KEY_BYTES,
  REVISION_KEY,
  SWEEP_KEY,
} from '../layout.js';
import type { DataFile } from './data-file.js';
import { FreePages } from './free-list.js';
import { FIRST_DATA_PAGE, type Meta, readU64 } from './meta.js';
import { PageSet } from './page-set.js';
import { type TreeEntry, walkTree } from './tree.js';

export type WalkStep =
  | { readonly type: 'record'; readonly record: StoredRecord; readonly bytes: Buffer }
  /** An entry that is no sound record; `name` is undefined where its key is none of a record either. */
  | {
      readonly type: 'corrupt';
      readonly key: ByteString;
      readonly name: RecordName | undefined;
      readonly reason: string;
    }
  /** The file's structure is broken at a page: what hangs on it cannot be reached. */
  | { readonly type: 'damage'; readonly page: number; readonly what: string };

/**
 * Everything that a data file holds as of one transaction, read without liblmdb and without trust: both trees and every page of
 * them, every record decoded, and whether the pages that may be overwritten are none of these.
 */
export class EnvironmentWalk {
  /** Every page of both trees. */
  readonly reached = new PageSet();
  readonly #file: DataFile;
  readonly #meta: Meta;
  readonly #free: FreePages;
  #revision = 0;
  #newest = 0;
  #durability: Durability | undefined;

  constructor(file: DataFile, meta: Meta) {
    this.#file = file;
    this.#meta = meta;
    this.#free = new FreePages(meta.lastPage);
  }

  /** Known after `steps`: the last revision given out, and the durability noted; undefined where there is no sound note. */
  get revision(): number {
    return this.#revision;
  }

  get durability(): Durability | undefined {
    return this.#durability;
  }

  /** Corrupt entries and damage come where they are found; sound records in order of their keys. Bounded memory: a bit a page. */
  *steps(): Generator<WalkStep> {
    const { freeList, records } = this.#meta;
    for (const finding of this.#free.read(this.#file.reader(this.#meta, true, this.reached), freeList))
      yield { type: 'damage', ...finding };
    for (const step of walkTree(this.#file.reader(this.#meta, false, this.reached), records)) {
      if ('finding' in step) yield { type: 'damage', ...step.finding };
      else yield* this.#judge(step.entry);
    }
    if (records.root !== undefined && this.#durability === undefined) {
      yield {
        type: 'damage',
        page: records.root,
        what: 'leads to no note by wafstate that this version can read',
      };
    }
    if (this.#newest > this.#revision) {
      const what = `leads to a record of revision ${this.#newest}, beyond the last one given out, ${this.#revision}`;
      yield { type: 'damage', page: records.root ?? 0, what };
    }
    for (let page = FIRST_DATA_PAGE; page <= this.#meta.lastPage; page++)
      if (this.reached.has(page) && this.#free.pages.has(page))
        yield { type: 'damage', page, what: 'is in use and listed as free' };
  }

  *#judge({ key: bytes, value }: TreeEntry): Generator<WalkStep> {
    const key = fromBytes(bytes);
    if (key < FIRST_RECORD_KEY) {
      const reason = this.#readOwn(key, value);
      if (reason !== undefined) yield { type: 'corrupt', key, name: undefined, reason };
      return;
    }
    const name = decodeKey(bytes);
    if (name === undefined) {
      yield { type: 'corrupt', key, name, reason: 'its key names no record' };
      return;
    }
    const record = decode(bytes, value);
    if (typeof record === 'string') {
      yield { type: 'corrupt', key, name, reason: record };
      return;
    }
    this.#newest = Math.max(this.#newest, record.revision);
    yield { type: 'record', record, bytes: value };
  }

  /** What is wrong with an entry of the engine's own. */
  #readOwn(key: ByteString, value: Buffer): string | undefined {
    if (key === ENVIRONMENT_KEY) {
      const noted = decodeEnvironment(value);
      if (typeof noted === 'string') this.#durability = noted;
      return undefined;
    }
    if (key === CURSOR_KEY)
      return value.byteLength <= MAX_KEY_BYTES ? undefined : 'it is longer than any key';
    if (key !== REVISION_KEY && key !== SWEEP_KEY) return undefined;
    if (value.byteLength !== 8) return `it has ${value.byteLength} bytes, not 8`;
    if (key === REVISION_KEY) this.#revision = readU64(value, 0);
    return undefined;
  }
}

/** A string says why it is none. */
function decode(key: Buffer, value: Buffer): StoredRecord | string {
  let record: StoredRecord;
  try {
    record = typescriptCodec.decode(value);
  } catch (error) {
    if (error instanceof WafStateError && error.code === 'corrupt_data') return error.message;
    throw error;
  }
  return encodeKey(record.name).equals(key) ? record : corruptionText(Corruption.otherName);
}
