import { PAGE_HEADER_BYTES, type Tree } from './meta.js';
import {
  checkOverflow,
  compareKeys,
  type LeafNode,
  type OverflowValue,
  type PageContext,
  parsePage,
} from './page.js';
import type { PageSet } from './page-set.js';

/** More than any record or list of free pages can have: a damaged length must not ask for all memory. */
const MAX_VALUE_BYTES = 2 ** 30;

/** What is wrong in a tree, and at which page. */
export interface Finding {
  readonly page: number;
  readonly what: string;
}

export interface TreeEntry {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface TreeReader extends PageContext {
  /** So many bytes from the beginning of a page; undefined where the file ends before. */
  read(page: number, bytes: number): Buffer | undefined;
  /** Pages that belong to some tree: none may belong twice. */
  readonly reached: PageSet;
}

/**
 * Every entry of a tree in the order of the keys, and what is wrong on the way. A page that is damaged is left out with all that hangs on
 * it; the walk goes on beside it. No page is read twice, so it ends whatever the file holds, and its memory is one page a level and
 * one value. Buffers are the caller's to keep.
 */
export function* walkTree(
  reader: TreeReader,
  tree: Tree,
): Generator<{ readonly entry: TreeEntry } | { readonly finding: Finding }> {
  if (tree.root === undefined) return;
  const seen = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
  let whole = true;
  for (const step of walkPage(reader, tree.root, 1, tree.depth, seen, undefined, undefined)) {
    if ('finding' in step) whole = false;
    yield step;
  }
  if (!whole) return;
  for (const figure of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const) {
    if (seen[figure] === tree[figure]) continue;
    const what = `is the root of a tree of ${seen[figure]} ${figure}, and the meta page says ${tree[figure]}`;
    yield { finding: { page: tree.root, what } };
  }
}

type Figures = Record<'branchPages' | 'leafPages' | 'overflowPages' | 'entries', number>;

/** All keys of the page are at least `low` and less than `high`. */
function* walkPage(
  reader: TreeReader,
  page: number,
  level: number,
  depth: number,
  seen: Figures,
  low: Buffer | undefined,
  high: Buffer | undefined,
): Generator<{ readonly entry: TreeEntry } | { readonly finding: Finding }> {
  const damage = (what: string): { finding: Finding } => ({ finding: { page, what } });
  if (!reader.reached.add(page)) return yield damage('belongs to two places');
  const bytes = reader.read(page, reader.pageSize);
  if (bytes === undefined) return yield damage('lies beyond the end of the file');
  const parsed = parsePage(bytes, page, reader);
  if (typeof parsed === 'string') return yield damage(parsed);
  if ((parsed.kind === 'leaf') !== (level === depth))
    return yield damage(`is a ${parsed.kind} at level ${level} of ${depth}`);
  const keys = parsed.kind === 'leaf' ? parsed.nodes : parsed.children.slice(1);
  if (keys.some(({ key }) => outside(key, low, high, reader.integerKeys)))
    return yield damage('holds keys that belong elsewhere');
  if (parsed.kind === 'branch') {
    seen.branchPages++;
    for (const [index, child] of parsed.children.entries()) {
      const from = index === 0 ? low : child.key;
      const to = parsed.children[index + 1]?.key ?? high;
      yield* walkPage(reader, child.page, level + 1, depth, seen, from, to);
    }
    return;
  }
  seen.leafPages++;
  for (const node of parsed.nodes) {
    seen.entries++;
    yield* readEntry(reader, node, seen);
  }
}

function outside(key: Buffer, low: Buffer | undefined, high: Buffer | undefined, integers: boolean): boolean {
  return (
    (low !== undefined && compareKeys(key, low, integers) < 0) ||
    (high !== undefined && compareKeys(key, high, integers) >= 0)
  );
}

function* readEntry(
  reader: TreeReader,
  { key, value }: LeafNode,
  seen: Figures,
): Generator<{ readonly entry: TreeEntry } | { readonly finding: Finding }> {
  if (Buffer.isBuffer(value)) return yield { entry: { key, value } };
  seen.overflowPages += value.pages;
  const read = readOverflow(reader, value);
  if (typeof read === 'string') yield { finding: { page: value.page, what: read } };
  else yield { entry: { key, value: read } };
}

function readOverflow(reader: TreeReader, value: OverflowValue): Buffer | string {
  for (let page = value.page; page < value.page + value.pages; page++)
    if (!reader.reached.add(page)) return `belongs to two places (page ${page} of a value)`;
  if (value.bytes > MAX_VALUE_BYTES) return `begins a value of ${value.bytes} bytes, which no record has`;
  const bytes = reader.read(value.page, PAGE_HEADER_BYTES + value.bytes);
  if (bytes === undefined) return 'lies beyond the end of the file';
  return checkOverflow(bytes, value, reader) ?? bytes.subarray(PAGE_HEADER_BYTES);
}
