import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { WafStateError } from '../../contract/errors.js';

/**
 * The two meta pages of data.mdb, as the liblmdb of the `lmdb` package lays them out on a 64-bit machine: a page header of
 * 24 bytes, then
 *
 *     offset  size  field
 *          0     4  magic BEEFC0DE
 *          4     2  data version, 2
 *          8     8  address of a fixed map
 *         16     8  map size
 *         24    48  tree of the free pages; its first field is the page size
 *         72    48  tree of the records
 *        120     8  last page in use
 *        128     8  transaction that wrote this meta page; the newer of the two counts
 *        136     8  boot id
 *
 * Stock LMDB 0.9 has a header of 16 bytes and data version 1.
 */
const HEADER_BYTES = 24;
const STOCK_HEADER_BYTES = 16;
const META_BYTES = HEADER_BYTES + 144;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const PAGE_SIZE_OFFSET = HEADER_BYTES + 24;
const LAST_PAGE_OFFSET = HEADER_BYTES + 120;
const TRANSACTION_OFFSET = HEADER_BYTES + 128;

/**
 * Refuses with `corrupt_data` whatever liblmdb would crash on. `empty` is a file that nobody has begun, as a process leaves it that
 * was killed while it made one. Safe beside a live writer: pages are there before the meta page that counts them.
 */
export function inspectDataFile(file: string): 'environment' | 'empty' {
  const descriptor = openSync(file, 'r');
  try {
    const first = readMeta(descriptor, 0);
    if (first.byteLength === 0) return 'empty';
    const pageSize = pageSizeOf(file, first);
    const second = readMeta(descriptor, pageSize);
    requireMeta(file, second);
    const newest =
      first.readBigUInt64LE(TRANSACTION_OFFSET) > second.readBigUInt64LE(TRANSACTION_OFFSET) ? first : second;
    const needed = (newest.readBigUInt64LE(LAST_PAGE_OFFSET) + 1n) * BigInt(pageSize);
    const { size } = fstatSync(descriptor);
    if (needed > BigInt(size)) {
      throw corrupt(
        file,
        `it is cut short: ${size} bytes are there, ${needed} are in use; restore it from a backup`,
        size,
        needed,
      );
    }
    return 'environment';
  } finally {
    closeSync(descriptor);
  }
}

function readMeta(descriptor: number, position: number): Buffer {
  const meta = Buffer.alloc(META_BYTES);
  return meta.subarray(0, readSync(descriptor, meta, 0, META_BYTES, position));
}

function pageSizeOf(file: string, meta: Buffer): number {
  requireMeta(file, meta);
  const pageSize = meta.readUInt32LE(PAGE_SIZE_OFFSET);
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) {
    throw corrupt(file, `its page size is ${pageSize}; restore it from a backup`);
  }
  return pageSize;
}

function requireMeta(file: string, meta: Buffer): void {
  if (meta.byteLength >= STOCK_HEADER_BYTES + 6 && meta.readUInt32LE(STOCK_HEADER_BYTES) === MAGIC) {
    const version = meta.readUInt16LE(STOCK_HEADER_BYTES + 4);
    throw corrupt(
      file,
      `it was written by stock LMDB (data version ${version}), this is another format (data version ${DATA_VERSION}); choose another path`,
    );
  }
  if (meta.byteLength < META_BYTES)
    throw corrupt(file, 'it ends within its first two pages; restore it from a backup');
  if (meta.readUInt32LE(HEADER_BYTES) !== MAGIC)
    throw corrupt(file, 'it is no LMDB file; choose another path, or restore it from a backup');
  const version = meta.readUInt16LE(HEADER_BYTES + 4);
  if (version !== DATA_VERSION)
    throw corrupt(file, `its data version is ${version}, this build reads ${DATA_VERSION}`);
}

function corrupt(file: string, what: string, limit?: number, actual?: bigint): WafStateError {
  return new WafStateError('corrupt_data', `openLmdb: ${file} cannot be opened: ${what}`, {
    details: {
      option: 'path',
      ...(limit !== undefined && { limit }),
      ...(actual !== undefined && { actual }),
    },
  });
}
