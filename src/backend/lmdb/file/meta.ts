/**
 * The two meta pages of data.mdb, as the liblmdb of the `lmdb` package lays them out on a 64-bit machine: a page header of
 * 24 bytes, then, little-endian,
 *
 *     offset  size  field
 *          0     4  magic BEEFC0DE
 *          4     4  data version, 2
 *          8     8  address of a fixed map, 0
 *         16     8  map size
 *         24    48  tree of the free pages; its first field is the page size, its flags are the environment's
 *         72    48  tree of the records
 *        120     8  last page in use
 *        128     8  transaction that wrote this meta page; the newer of the two counts
 *        136     8  boot id
 *
 * and a tree:
 *
 *          0     4  page size, or 0
 *          4     2  flags: 8 (keys are integers) for the free pages, 0 for the records
 *          6     2  depth
 *          8     8  branch pages
 *         16     8  leaf pages
 *         24     8  overflow pages
 *         32     8  entries
 *         40     8  root page, all ones where the tree is empty
 *
 * A commit of transaction t writes meta page t mod 2, so of two meta pages one is a transaction older than the other. Stock LMDB 0.9
 * has a header of 16 bytes and data version 1.
 */
export interface Meta {
  /** The page that it stands on, 0 or 1, and its `META_BYTES` as they are. */
  readonly index: number;
  readonly bytes: Buffer;
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
  /** Tells the starts of the machine apart; 0 where the system has none. */
  readonly boot: number;
  readonly freeList: Tree;
  readonly records: Tree;
}

export interface Tree {
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  /** Undefined: the tree is empty. */
  readonly root: number | undefined;
}

export interface MetaPair {
  readonly newer: Meta;
  readonly older: Meta;
}

/** What is wrong with a file. */
export interface Damage {
  readonly what: string;
  /** What a figure may be at most, and is, where that tells more. */
  readonly limit?: number;
  readonly actual?: number;
}

export const PAGE_HEADER_BYTES = 24;
export const META_BYTES = PAGE_HEADER_BYTES + 144;
/** Cursors of liblmdb stand on so many pages at most. */
export const MAX_DEPTH = 32;
export const FIRST_DATA_PAGE = 2;

const STOCK_HEADER_BYTES = 16;
const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
const META_PAGE = 8;
const INTEGER_KEYS = 8;
/** Of the `lmdb` package by default; wafstate never sets it. */
const OVERLAPPING_SYNC = 0x1000;
const FREE_LIST_OFFSET = PAGE_HEADER_BYTES + 24;
const RECORDS_OFFSET = PAGE_HEADER_BYTES + 72;
/** Processes address no more on the machines of today. */
const MAX_MAP_BYTES = 2 ** 47;

/** An unsigned integer of 64 bits; inexact beyond 2^53, where no figure of a sound file is. */
export function readU64(bytes: Buffer, offset: number): number {
  return bytes.readUInt32LE(offset + 4) * 2 ** 32 + bytes.readUInt32LE(offset);
}

/** Of the first meta page. Everything else has its place by it. */
export function readPageSize(first: Buffer): number | Damage {
  const damage = requireFormat(first, 0);
  if (damage !== undefined) return damage;
  const pageSize = first.readUInt32LE(FREE_LIST_OFFSET);
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) {
    return { what: `its page size is ${pageSize}; restore it from a backup` };
  }
  return pageSize;
}

/** Both meta pages, checked field by field and against each other. Everything reads by the newer one. */
export function readMetas(first: Buffer, second: Buffer): MetaPair | Damage {
  const pages = [first, second] as const;
  const lastPage = Math.max(
    ...pages.map((page) => (page.byteLength < META_BYTES ? 0 : readU64(page, PAGE_HEADER_BYTES + 120))),
  );
  const metas: Meta[] = [];
  for (const [index, page] of pages.entries()) {
    const meta = readMeta(page, index, lastPage);
    if ('what' in meta) return meta;
    metas.push(meta);
  }
  const [even, odd] = metas as [Meta, Meta];
  if (even.pageSize !== odd.pageSize)
    return inMeta(1, `names a page size of ${odd.pageSize}, the other one ${even.pageSize}`);
  // A new file, or what LMDB's own compacting copy leaves: the first one empty, everything in the second.
  const fresh = even.transaction === 0 && even.records.root === undefined && even.freeList.root === undefined;
  const alternate = even.transaction % 2 === 0 && odd.transaction % 2 === 1;
  if (!fresh && !(alternate && Math.abs(even.transaction - odd.transaction) === 1)) {
    return {
      what: `its meta pages are of transactions ${even.transaction} and ${odd.transaction}, which do not follow each other; restore it from a backup`,
    };
  }
  const [newer, older] = even.transaction > odd.transaction ? [even, odd] : [odd, even];
  if (newer.lastPage < older.lastPage) {
    return {
      what: `its last page was ${older.lastPage} in the transaction before the last, and is ${newer.lastPage}; restore it from a backup`,
    };
  }
  return { newer, older };
}

/**
 * One meta page by itself, for reading what is left where the other one is damaged; undefined where it is damaged, too, or not at the
 * place that its page size gives it.
 */
export function readLoneMeta(page: Buffer, position: number): Meta | undefined {
  const index = position === 0 ? 0 : 1;
  const meta = readMeta(page, index, Number.MAX_SAFE_INTEGER);
  if ('what' in meta || (index === 1 && meta.pageSize !== position)) return undefined;
  return meta;
}

function readMeta(page: Buffer, index: number, lastPageOfBoth: number): Meta | Damage {
  const damage = requireFormat(page, index);
  if (damage !== undefined) return damage;
  const header = [readU64(page, 0), readU64(page, 8), page.readUInt16LE(16), page.readUInt16LE(18)];
  if ([index, 0, 0, META_PAGE].some((value, at) => header[at] !== value) || page.readUInt32LE(20) !== 0)
    return inMeta(index, 'has a damaged header');
  const lastPage = readU64(page, PAGE_HEADER_BYTES + 120);
  const transaction = readU64(page, PAGE_HEADER_BYTES + 128);
  const mapBytes = readU64(page, PAGE_HEADER_BYTES + 16);
  const pageSize = page.readUInt32LE(FREE_LIST_OFFSET);
  if (readU64(page, PAGE_HEADER_BYTES + 8) !== 0) return inMeta(index, 'names a fixed address');
  if (mapBytes === 0 || mapBytes > MAX_MAP_BYTES)
    return inMeta(index, `names a map size of ${mapBytes} bytes`);
  if (lastPage < FIRST_DATA_PAGE - 1 || lastPage * pageSize > MAX_MAP_BYTES)
    return inMeta(index, `names page ${lastPage} as the last one`);
  if (!Number.isSafeInteger(transaction)) return inMeta(index, 'names an impossible transaction');
  if (page.readUInt32LE(RECORDS_OFFSET) !== 0) return inMeta(index, 'has damaged flags');
  if (page.readUInt16LE(FREE_LIST_OFFSET + 4) === (INTEGER_KEYS | OVERLAPPING_SYNC)) {
    return {
      what: 'it was made by another program, with overlappingSync of the lmdb package; choose another path',
    };
  }
  const freeList = readTree(page, FREE_LIST_OFFSET, INTEGER_KEYS, lastPageOfBoth);
  if (typeof freeList === 'string') return inMeta(index, `${freeList} of the free pages`);
  const records = readTree(page, RECORDS_OFFSET, 0, lastPageOfBoth);
  if (typeof records === 'string') return inMeta(index, `${records} of the records`);
  // Both are of the meta page's own transaction, so nothing of the page itself tells whose root it is.
  if (records.root !== undefined && records.root === freeList.root)
    return inMeta(index, `has page ${records.root} for the root of both trees`);
  const boot = readU64(page, PAGE_HEADER_BYTES + 136);
  return { index, bytes: page, pageSize, lastPage, transaction, boot, freeList, records };
}

/** A string says what is wrong, up to "the tree". */
function readTree(page: Buffer, offset: number, flags: number, lastPage: number): Tree | string {
  const depth = page.readUInt16LE(offset + 6);
  const [branchPages, leafPages, overflowPages, entries, rootPage] = [8, 16, 24, 32, 40].map((at) =>
    readU64(page, offset + at),
  ) as [number, number, number, number, number];
  const empty = page.subarray(offset + 40, offset + 48).every((byte) => byte === 0xff);
  if (page.readUInt16LE(offset + 4) !== flags) return 'has other flags for the tree';
  if (empty) {
    return depth + branchPages + leafPages + overflowPages + entries === 0
      ? { depth, branchPages, leafPages, overflowPages, entries, root: undefined }
      : 'has figures, but no root for the tree';
  }
  if (rootPage < FIRST_DATA_PAGE || rootPage > lastPage)
    return `has page ${rootPage} for the root of the tree`;
  if (depth === 0 || depth > MAX_DEPTH) return `has a depth of ${depth} for the tree`;
  const single = depth === 1;
  const pages = branchPages + leafPages + overflowPages;
  if (leafPages === 0 || entries < leafPages || single !== (branchPages === 0) || pages > lastPage - 1)
    return 'has impossible figures for the tree';
  return { depth, branchPages, leafPages, overflowPages, entries, root: rootPage };
}

function requireFormat(meta: Buffer, index: number): Damage | undefined {
  if (index === 0 && meta.byteLength >= STOCK_HEADER_BYTES + 8 && isStock(meta)) {
    const version = meta.readUInt32LE(STOCK_HEADER_BYTES + 4);
    return {
      what: `it was written by stock LMDB (data version ${version}), this is another format (data version ${DATA_VERSION}); choose another path`,
    };
  }
  if (meta.byteLength < META_BYTES)
    return { what: 'it ends within its first two pages; restore it from a backup' };
  if (meta.readUInt32LE(PAGE_HEADER_BYTES) !== MAGIC) {
    return index === 0
      ? { what: 'it is no LMDB file; choose another path, or restore it from a backup' }
      : inMeta(index, 'has no magic number');
  }
  const version = meta.readUInt32LE(PAGE_HEADER_BYTES + 4);
  if (version !== DATA_VERSION)
    return { what: `its data version is ${version}, this build reads ${DATA_VERSION}` };
  return undefined;
}

function isStock(meta: Buffer): boolean {
  return meta.readUInt32LE(STOCK_HEADER_BYTES) === MAGIC;
}

function inMeta(index: number, what: string): Damage {
  return { what: `its meta page ${index} ${what}; restore it from a backup` };
}
