import type { ByteString } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';
import type { BatchFate, Environment, EnvironmentStats, StoredPage } from './environment.js';
import type { Gate } from './gate.js';
import { type Durability, FIRST_RECORD_KEY, REVISION_KEY, WRITER_KEY_PREFIX } from './layout.js';
import type { PackageEnvironment } from './lmdb-package.js';
import { readNewest } from './typescript-read.js';
import { decodeWriterNote } from './writer-note.js';

const REVISION_BYTES = 8;

export interface TypeScriptEnvironmentOptions {
  readonly mapSize: number;
  readonly maxReaders: number;
  readonly durability: Durability;
  /** The writer of the same backend; undefined where it is read-only. */
  readonly writerName: ByteString | undefined;
}

/** Reads by the `lmdb` package. Every read first lets go of the last snapshot, or it might miss an acknowledged commit. */
export class TypeScriptEnvironment implements Environment {
  readonly implementation = 'typescript';
  readonly #data: PackageEnvironment;
  readonly #gate: Gate;
  readonly #options: TypeScriptEnvironmentOptions;

  constructor(data: PackageEnvironment, gate: Gate, options: TypeScriptEnvironmentOptions) {
    this.#data = data;
    this.#gate = gate;
    this.#options = options;
  }

  load(key: ByteString): Uint8Array | undefined {
    return this.#read((data) => {
      const value = data.getBinaryFast(key);
      // The package's buffer runs on beyond the value.
      return value?.subarray(0, value.length);
    });
  }

  page(from: ByteString, exclusive: boolean, prefix: ByteString, limit: number): StoredPage {
    const start = from > prefix ? from : prefix;
    return this.#read((data) => {
      const entries: { key: ByteString; record: Uint8Array }[] = [];
      const range = {
        start: start === '' ? FIRST_RECORD_KEY : start,
        exclusiveStart: exclusive && start === from,
        limit: limit + 1,
        snapshot: true,
      } as const;
      for (const { key, value } of data.getRange(range)) {
        if (!key.startsWith(prefix)) break;
        if (entries.length === limit) return { entries, next: entries.at(-1)?.key };
        entries.push({ key, record: value });
      }
      return { entries, next: undefined };
    });
  }

  stats(): EnvironmentStats {
    return this.#read((data) => {
      const { pageSize, lastPageNumber, entryCount, free, numReaders, ...tree } = data.getStats();
      const pages = lastPageNumber + 1;
      const used =
        2 +
        tree.treeBranchPageCount +
        tree.treeLeafPageCount +
        tree.overflowPages +
        free.treeBranchPageCount +
        free.treeLeafPageCount +
        free.overflowPages;
      return {
        mapSize: this.#options.mapSize,
        pageSize,
        usedPages: used,
        freePages: pages - used,
        fileBytes: pages * pageSize,
        records: entryCount - this.#ownEntries(data),
        readers: numReaders,
        maxReaders: tree.maxReaders,
        revision: readRevision(data.getBinaryFast(REVISION_KEY)),
        durability: this.#options.durability,
      };
    });
  }

  fate(sequence: number): BatchFate {
    const { writerName } = this.#options;
    if (writerName === undefined) return { type: 'unknown' };
    const note = this.#read((data) => data.getBinaryFast((WRITER_KEY_PREFIX + writerName) as ByteString));
    if (note === undefined) return { type: 'unknown' };
    const { sequence: last, applied } = decodeWriterNote(note);
    return last === sequence
      ? { type: 'applied', applied }
      : last < sequence
        ? { type: 'not_executed' }
        : { type: 'unknown' };
  }

  async close(): Promise<void> {
    await this.#data.close();
    await this.#gate.close();
  }

  #ownEntries(data: PackageEnvironment): number {
    let count = 0;
    for (const { key } of data.getRange({
      start: '\0' as ByteString,
      exclusiveStart: false,
      limit: 100_000,
      snapshot: true,
    })) {
      if (key >= FIRST_RECORD_KEY) break;
      count++;
    }
    return count;
  }

  #read<T>(action: (data: PackageEnvironment) => T): T {
    return readNewest(this.#data, this.#options.maxReaders, action);
  }
}

/** Throws `corrupt_data` where it is not 8 bytes long: what follows in the package's buffer is no part of it. */
export function readRevision(bytes: Uint8Array | undefined): number {
  if (bytes === undefined) return 0;
  if (bytes.length !== REVISION_BYTES) {
    throw new WafStateError(
      'corrupt_data',
      `the environment's last revision has ${bytes.length} bytes, not ${REVISION_BYTES}; save its records with \`wafstate export\``,
    );
  }
  return Number(Buffer.from(bytes.buffer, bytes.byteOffset, 8).readBigUInt64LE());
}
