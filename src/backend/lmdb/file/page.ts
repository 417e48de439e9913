import { FIRST_DATA_PAGE, PAGE_HEADER_BYTES, readU64 } from './meta.js';

/**
 * One page of a tree, read without trust: every offset is checked before it is followed.
 *
 *     offset  size  field                                  (page)
 *          0     8  page number
 *          8     8  transaction that wrote it
 *         18     2  flags: 1 branch, 2 leaf, 4 overflow
 *         20     2  end of the node offsets                (branch, leaf)
 *         22     2  beginning of the nodes                 (branch, leaf; both, and the offsets, count from 24)
 *         20     4  how many pages belong together         (overflow; then the value from offset 24 on)
 *         24   2 n  offsets of the nodes, in order of their keys
 *
 *     offset  size  field                                  (node, at an even offset)
 *          0     2  a, and
 *          2     2  b: a leaf's value has a + 65536 b bytes
 *          4     2  c: 1 = the value is on overflow pages; a branch's child is page a + 65536 b + 2^32 c
 *          6     2  key length
 *          8        key, then the value; or 24 bytes: first overflow page, transaction, number of pages
 *
 * The nodes fill the page to its end without a gap. The key of a branch's first node means nothing.
 */
export interface PageContext {
  readonly pageSize: number;
  readonly lastPage: number;
  /** The transaction that is read: a page that a later one wrote is none of it. */
  readonly transaction: number;
  /** Keys are integers of 8 bytes, as in the free list, instead of strings of bytes. */
  readonly integerKeys: boolean;
}

export interface BranchPage {
  readonly kind: 'branch';
  /** That wrote the page. */
  readonly transaction: number;
  readonly children: readonly { readonly key: Buffer; readonly page: number }[];
}

export interface LeafPage {
  readonly kind: 'leaf';
  readonly transaction: number;
  readonly nodes: readonly LeafNode[];
}

export interface LeafNode {
  readonly key: Buffer;
  readonly value: Buffer | OverflowValue;
}

export interface OverflowValue {
  readonly page: number;
  readonly pages: number;
  readonly transaction: number;
  readonly bytes: number;
}

/** LMDB's compacting copy writes pages and references under this transaction, and its meta page under the one that was copied. */
export const COPIED = 1;

const BRANCH = 1;
const LEAF = 2;
const OVERFLOW = 4;
const NODE_HEADER_BYTES = 8;
const OVERFLOW_REFERENCE_BYTES = 24;
const ON_OVERFLOW_PAGES = 1;
const INTEGER_KEY_BYTES = 8;

export function compareKeys(a: Buffer, b: Buffer, integers: boolean): number {
  return integers ? readU64(a, 0) - readU64(b, 0) : Buffer.compare(a, b);
}

/** A string says what is wrong. The keys and values are views into `bytes`. */
export function parsePage(bytes: Buffer, page: number, context: PageContext): BranchPage | LeafPage | string {
  const header = checkHeader(bytes, page, context);
  if (header !== undefined) return header;
  const flags = bytes.readUInt16LE(18);
  if (flags !== BRANCH && flags !== LEAF) return `is of kind ${flags} where a branch or a leaf has to be`;
  const lower = PAGE_HEADER_BYTES + bytes.readUInt16LE(20);
  const upper = PAGE_HEADER_BYTES + bytes.readUInt16LE(22);
  const count = (lower - PAGE_HEADER_BYTES) / 2;
  if (!Number.isInteger(count) || count < 1 || lower > upper || upper > context.pageSize)
    return 'has damaged bounds';
  const nodes: { offset: number; end: number }[] = [];
  let used = 0;
  for (let index = 0; index < count; index++) {
    const offset = PAGE_HEADER_BYTES + bytes.readUInt16LE(PAGE_HEADER_BYTES + 2 * index);
    if (offset < upper || offset % 2 !== 0 || offset + NODE_HEADER_BYTES > context.pageSize)
      return `has node ${index} outside of it`;
    const end = offset + nodeBytes(bytes, offset, flags);
    if (end > context.pageSize) return `has node ${index} running over its end`;
    nodes.push({ offset, end });
    used += end - offset;
  }
  // Together with the bounds of each this leaves no room for two that overlap, but for one that lies over another and a gap.
  if (used !== context.pageSize - upper || overlap(nodes)) return 'has nodes that overlap or leave a gap';
  const damage = checkOrder(bytes, nodes, flags === BRANCH ? 1 : 0, context.integerKeys);
  if (damage !== undefined) return damage;
  return flags === BRANCH ? parseBranch(bytes, nodes, context) : parseLeaf(bytes, nodes, context);
}

/** Of the first of a value's overflow pages. */
export function checkOverflow(bytes: Buffer, value: OverflowValue, context: PageContext): string | undefined {
  const header = checkHeader(bytes, value.page, context);
  if (header !== undefined) return header;
  const flags = bytes.readUInt16LE(18);
  if (flags !== OVERFLOW) return `is of kind ${flags} where an overflow page has to be`;
  const written = readU64(bytes, 8);
  const related = written === value.transaction || written === COPIED || value.transaction === COPIED;
  if (!related || bytes.readUInt32LE(20) !== value.pages)
    return 'is not the overflow page that its leaf refers to';
  return undefined;
}

function checkHeader(bytes: Buffer, page: number, { transaction }: PageContext): string | undefined {
  const number = readU64(bytes, 0);
  if (number !== page) return `calls itself page ${number}`;
  const written = readU64(bytes, 8);
  if (written === 0 || written > transaction)
    return `was written by transaction ${written}, after the last one`;
  return undefined;
}

function nodeBytes(bytes: Buffer, offset: number, flags: number): number {
  const keyBytes = bytes.readUInt16LE(offset + 6);
  let valueBytes = 0;
  if (flags === LEAF) {
    valueBytes = bytes.readUInt16LE(offset + 4) === 0 ? bytes.readUInt32LE(offset) : OVERFLOW_REFERENCE_BYTES;
  }
  const total = NODE_HEADER_BYTES + keyBytes + valueBytes;
  return total + (total % 2);
}

function overlap(nodes: readonly { offset: number; end: number }[]): boolean {
  const sorted = [...nodes].sort((a, b) => a.offset - b.offset);
  return sorted.some(({ offset }, index) => index > 0 && offset < (sorted[index - 1]?.end ?? 0));
}

/** Strictly ascending as bytes, and none empty; `first` is the first node whose key counts. */
function checkOrder(
  bytes: Buffer,
  nodes: readonly { offset: number }[],
  first: number,
  integerKeys: boolean,
): string | undefined {
  let before: Buffer | undefined;
  for (let index = first; index < nodes.length; index++) {
    const key = keyOf(bytes, nodes[index]?.offset ?? 0);
    if (integerKeys ? key.byteLength !== INTEGER_KEY_BYTES : key.byteLength === 0)
      return `has node ${index} with a key of ${key.byteLength} bytes`;
    if (before !== undefined && compareKeys(before, key, integerKeys) >= 0)
      return `has node ${index} out of order`;
    before = key;
  }
  return undefined;
}

function keyOf(bytes: Buffer, offset: number): Buffer {
  const start = offset + NODE_HEADER_BYTES;
  return bytes.subarray(start, start + bytes.readUInt16LE(offset + 6));
}

function parseBranch(
  bytes: Buffer,
  nodes: readonly { offset: number }[],
  { lastPage }: PageContext,
): BranchPage | string {
  const children: { key: Buffer; page: number }[] = [];
  for (const [index, { offset }] of nodes.entries()) {
    const page = bytes.readUInt32LE(offset) + bytes.readUInt16LE(offset + 4) * 2 ** 32;
    if (page < FIRST_DATA_PAGE || page > lastPage) return `has page ${page} for child ${index}`;
    children.push({ key: keyOf(bytes, offset), page });
  }
  return { kind: 'branch', transaction: readU64(bytes, 8), children };
}

function parseLeaf(
  bytes: Buffer,
  nodes: readonly { offset: number }[],
  context: PageContext,
): LeafPage | string {
  const parsed: LeafNode[] = [];
  for (const [index, { offset }] of nodes.entries()) {
    const flags = bytes.readUInt16LE(offset + 4);
    const key = keyOf(bytes, offset);
    const length = bytes.readUInt32LE(offset);
    const start = offset + NODE_HEADER_BYTES + key.byteLength;
    if (flags === 0) {
      parsed.push({ key, value: bytes.subarray(start, start + length) });
      continue;
    }
    if (flags !== ON_OVERFLOW_PAGES) return `has node ${index} of kind ${flags}`;
    const value: OverflowValue = {
      page: readU64(bytes, start),
      transaction: readU64(bytes, start + 8),
      pages: readU64(bytes, start + 16),
      bytes: length,
    };
    const needed = Math.floor((PAGE_HEADER_BYTES - 1 + length) / context.pageSize) + 1;
    const last = value.page + value.pages - 1;
    if (value.pages !== needed || value.page < FIRST_DATA_PAGE || last > context.lastPage)
      return `has node ${index} on overflow pages that cannot be`;
    parsed.push({ key, value });
  }
  return { kind: 'leaf', transaction: readU64(bytes, 8), nodes: parsed };
}
