import { FIRST_DATA_PAGE, readU64, type Tree } from './meta.js';
import { PageSet } from './page-set.js';
import { type Finding, type TreeReader, walkTree } from './tree.js';

/** A page may be listed more than once, but not all of them again and again. */
const MOST_TIMES = 4;

/**
 * The pages that may be used again. An entry of the tree is, by the transaction that freed them, a list of signed integers of 64
 * bits: how many follow, then each a page; 0, which means nothing; or -n, which makes the next one the first of n pages. An entry may be
 * longer than its list.
 */
export class FreePages {
  readonly pages = new PageSet();
  readonly #lastPage: number;
  #listed = 0;

  constructor(lastPage: number) {
    this.#lastPage = lastPage;
  }

  /** Fills `pages`, and yields what is wrong. */
  *read(reader: TreeReader, tree: Tree): Generator<Finding> {
    for (const step of walkTree(reader, tree)) {
      if ('finding' in step) yield step.finding;
      else {
        const { key, value } = step.entry;
        const transaction = readU64(key, 0);
        const what =
          transaction === 0 || transaction > reader.transaction
            ? 'is of an impossible transaction'
            : this.#take(value);
        if (what !== undefined)
          yield {
            page: tree.root ?? 0,
            what: `leads to the list of pages freed by transaction ${transaction}, which ${what}`,
          };
      }
    }
  }

  /** A page that is listed twice is no damage: liblmdb leaves it so now and then, and passes over it. */
  #take(list: Buffer): string | undefined {
    if (list.byteLength < 8 || list.byteLength % 8 !== 0) return `has ${list.byteLength} bytes`;
    const count = readU64(list, 0);
    if ((count + 1) * 8 > list.byteLength) return `counts ${count} pages in ${list.byteLength} bytes`;
    let run = 1;
    for (let index = 1; index <= count; index++) {
      const page = readI64(list, index * 8);
      if (page === 0) continue;
      if (page < 0) {
        run = -page;
        continue;
      }
      if (page < FIRST_DATA_PAGE || page + run - 1 > this.#lastPage)
        return `holds page ${page} to ${page + run - 1}`;
      // A list of long runs over one place would take hours to go through.
      this.#listed += run;
      if (this.#listed > MOST_TIMES * this.#lastPage) return 'holds more pages than there are';
      for (let member = page; member < page + run; member++) this.pages.add(member);
      run = 1;
    }
    return undefined;
  }
}

function readI64(bytes: Buffer, offset: number): number {
  return bytes.readInt32LE(offset + 4) * 2 ** 32 + bytes.readUInt32LE(offset);
}
