import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { WafStateError } from '../../../contract/errors.js';
import { systemError } from '../../../contract/system-error.js';
import {
  type Damage,
  META_BYTES,
  type Meta,
  type MetaPair,
  readLoneMeta,
  readMetas,
  readPageSize,
} from './meta.js';
import { PageSet } from './page-set.js';
import type { TreeReader } from './tree.js';

/** A writer that commits between two reads makes a sound file look torn: so often it is looked at again. */
const ATTEMPTS = 100;

/**
 * data.mdb as a file, without liblmdb: nothing that it holds can crash the process. Reading it beside liblmdb, also in the same
 * process, is harmless: the locks are on lock.mdb.
 */
export class DataFile {
  readonly #file: string;
  readonly #descriptor: number;

  private constructor(file: string, descriptor: number) {
    this.#file = file;
    this.#descriptor = descriptor;
  }

  /**
   * Follows no symbolic link, and does not wait for the other end of a fifo. Throws `not_found`, `permission_denied` or `invalid_option` (it is
   * no file), and every later read `unavailable` where the disk fails.
   */
  static open(file: string): DataFile {
    const data = new DataFile(file, openForReading(file));
    if (data.#stats().isFile()) return data;
    data.close();
    throw new WafStateError('invalid_option', `cannot read ${file}: it is no regular file; check the path`, {
      details: { option: 'path' },
    });
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** The file's size, bytes. */
  size(): number {
    return this.#stats().size;
  }

  /** The meta pages, or what is wrong; undefined for a file that nobody has begun, as a process leaves it that was killed. */
  metas(): MetaPair | Damage | undefined {
    let before: Buffer | undefined;
    let result: MetaPair | Damage | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const first = this.#read(0, META_BYTES);
      if (first.byteLength === 0) return undefined;
      const pageSize = readPageSize(first);
      const second = typeof pageSize === 'number' ? this.#read(pageSize, META_BYTES) : Buffer.alloc(0);
      result = typeof pageSize === 'number' ? readMetas(first, second) : pageSize;
      const both = Buffer.concat([first, second]);
      // Twice the same: nobody was writing meanwhile.
      if (before?.equals(both) === true) return result;
      before = both;
    }
    return result;
  }

  /** Sound meta pages, the newest first, where `metas` finds the two of them damaged: to read what is left. */
  loneMetas(): Meta[] {
    const positions = [0, ...Array.from({ length: 8 }, (_, power) => 512 << power)];
    return positions
      .map((position) => readLoneMeta(this.#read(position, META_BYTES), position))
      .filter((meta) => meta !== undefined)
      .sort((a, b) => b.transaction - a.transaction);
  }

  /** The bytes of whole pages; shorter where the file ends. */
  pages(first: number, count: number, pageSize: number): Buffer {
    return this.#read(first * pageSize, count * pageSize);
  }

  /** Whether no commit has come since `meta` was read. */
  isNewest({ transaction }: Meta): boolean {
    const now = this.metas();
    return now === undefined || 'what' in now || now.newer.transaction === transaction;
  }

  /** For the tree of the records or of the free pages as of `meta`. */
  reader(meta: Meta, integerKeys: boolean, reached = new PageSet()): TreeReader {
    const { pageSize, lastPage, transaction } = meta;
    const read = (page: number, bytes: number): Buffer | undefined => {
      const position = page * pageSize;
      if (position + bytes > this.size()) return undefined;
      const buffer = this.#read(position, bytes);
      return buffer.byteLength === bytes ? buffer : undefined;
    };
    return { pageSize, lastPage, transaction, integerKeys, reached, read };
  }

  #read(position: number, bytes: number): Buffer {
    const buffer = Buffer.allocUnsafeSlow(bytes);
    let filled = 0;
    while (filled < bytes) {
      const read = this.#attempt(() =>
        readSync(this.#descriptor, buffer, filled, bytes - filled, position + filled),
      );
      if (read === 0) break;
      filled += read;
    }
    return buffer.subarray(0, filled);
  }

  #stats(): Stats {
    return this.#attempt(() => fstatSync(this.#descriptor));
  }

  #attempt<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      throw unreadable(this.#file, error);
    }
  }
}

function openForReading(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): WafStateError {
  return systemError(error, `read ${file}`, { details: { option: 'path' } });
}
