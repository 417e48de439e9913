import type { DataFile } from './data-file.js';
import { FreePages } from './free-list.js';
import { type Damage, FIRST_DATA_PAGE, type Meta, type MetaPair, type Tree } from './meta.js';
import { type BranchPage, COPIED, type LeafPage, parsePage } from './page.js';
import type { TreeReader } from './tree.js';

const ADVICE = 'restore it from a backup, or save what is readable with `wafstate export`';

/**
 * What can be told of a data file without reading all of it: whether its length, its meta pages, the roots they name and the list of free
 * pages belong together. liblmdb does not look, and would crash, read a state that is long gone, or overwrite pages in use.
 *
 * It stands on this. A transaction writes anew every page from what it changes up to the root, and lists those it frees, so both roots are of the very
 * transaction that their meta page is of; the pages of the last two are not used again; the trees and the free pages together are no more than
 * the file has. Costs the pages from the roots down to the first leaf and the whole list of free pages.
 */
export function glance(file: DataFile, { newer, older }: MetaPair): Damage | undefined {
  const size = file.size();
  const needed = (newer.lastPage + 1) * newer.pageSize;
  const cutShort: Damage = {
    what: `it is cut short: ${size} bytes are there, ${needed} are in use; restore it from a backup`,
    limit: size,
    actual: needed,
  };
  for (const meta of [newer, older]) {
    for (const tree of [meta.freeList, meta.records]) {
      const reader = file.reader(meta, tree === meta.freeList);
      const what = judgeRoot(reader, tree, meta === newer);
      if (what === 'end') return cutShort;
      if (what !== undefined) return { what: `${what}; ${ADVICE}` };
    }
  }
  return judgeFreePages(file, newer, Math.floor(size / newer.pageSize), cutShort);
}

/** `path`: down to the first leaf, too. */
function judgeRoot(reader: TreeReader, tree: Tree, path: boolean): string | 'end' | undefined {
  let page = tree.root;
  for (let level = 1; page !== undefined && (level === 1 || path); level++) {
    const bytes = reader.read(page, reader.pageSize);
    if (bytes === undefined) return 'end';
    const parsed: BranchPage | LeafPage | string = parsePage(bytes, page, reader);
    if (typeof parsed === 'string') return `its page ${page} ${parsed}`;
    if (level === 1 && ![reader.transaction, COPIED].includes(parsed.transaction))
      return `its page ${page}, the root of a tree, is of transaction ${parsed.transaction} and not of ${reader.transaction}`;
    if ((parsed.kind === 'leaf') !== (level === tree.depth))
      return `its page ${page} is a ${parsed.kind} at level ${level} of a tree of ${tree.depth} levels`;
    page = parsed.kind === 'branch' ? parsed.children[0]?.page : undefined;
  }
  return undefined;
}

/** `present`: the pages that the file has. */
function judgeFreePages(file: DataFile, meta: Meta, present: number, cutShort: Damage): Damage | undefined {
  const free = new FreePages(meta.lastPage);
  for (const { page, what } of free.read(file.reader(meta, true), meta.freeList)) {
    if (present <= meta.lastPage) return cutShort;
    return { what: `its page ${page}, of the list of free pages, ${what}; ${ADVICE}` };
  }
  const { freeList, records } = meta;
  for (const { root } of [freeList, records])
    if (root !== undefined && free.pages.has(root))
      return { what: `its page ${root} is the root of a tree and listed as free; ${ADVICE}` };
  const used = [freeList, records].reduce(
    (sum, tree) => sum + tree.branchPages + tree.leafPages + tree.overflowPages,
    free.pages.size,
  );
  const all = meta.lastPage + 1 - FIRST_DATA_PAGE;
  if (used > all)
    return {
      what: `it has ${all} pages, and ${used} are in use or free; ${ADVICE}`,
      limit: all,
      actual: used,
    };
  // A page that was taken and given back by one transaction is never written: it may lie beyond the end.
  for (let page = present; page <= meta.lastPage; page++) if (!free.pages.has(page)) return cutShort;
  return undefined;
}
