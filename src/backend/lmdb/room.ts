import type { BatchExecutor, Change } from '../../record/batch.js';
import { NO_MUTATION, Status } from '../../record/status.js';
import type { PackageEnvironment } from './lmdb-package.js';

/** Pages that only writes get which do not make the records longer: deletions and cleanup must work on a full map. */
export const RESERVED_PAGES = 64;
/** What the list of free pages may take of its own at a commit. */
const FREE_LIST_PAGES = 8;
const PAGE_HEADER_BYTES = 24;
const NODE_HEADER_BYTES = 8;

/** A transaction took more pages than it was reckoned to take. */
export class MapGrown extends Error {}

/**
 * The hard cap on data.mdb. The `lmdb` package lets the map grow inside a transaction and offers no way to forbid it, and the
 * pages that a transaction takes cannot be asked for. So before the first put the most that a batch can take is
 * reckoned from its records and the shape of the tree, and compared with what is left below the cap.
 */
export class Room {
  readonly #data: PackageEnvironment;
  readonly #mapSize: number;
  #grownTo: number;

  constructor(data: PackageEnvironment, mapSize: number) {
    this.#data = data;
    this.#mapSize = mapSize;
    this.#grownTo = Math.max(mapSize, data.env.info().mapSize);
  }

  /**
   * The changes of the batch as far as there is room for them. Where it runs short, requests that make their records longer
   * are answered with *map full*, the later half of them first, and the rest is executed `again`.
   */
  fit(executor: BatchExecutor, again: () => void): Change[] {
    let changes = executor.changes();
    if (this.fits(changes, false)) return changes;
    let growing = requestsWhere(executor, (growth) => growth > 0);
    while (growing.length > 0) {
      const kept = growing.length >> 1;
      this.#refuse(executor, growing.slice(kept));
      growing = growing.slice(0, kept);
      again();
      changes = executor.changes();
      if (this.fits(changes, growing.length === 0)) return changes;
    }
    this.#refuse(
      executor,
      requestsWhere(executor, (growth) => growth >= 0),
    );
    again();
    return executor.changes();
  }

  /** Whether the changes fit below the cap for certain. `reserve`: the reserved pages count, too. */
  fits(changes: readonly Change[], reserve: boolean): boolean {
    const { pageSize, treeDepth, treeBranchPageCount, treeLeafPageCount, overflowPages } =
      this.#data.db.stat();
    const treePages = treeBranchPageCount + treeLeafPageCount;
    const copied = Math.min(changes.length * treeDepth, treePages);
    let needed = 2 * copied + treeDepth + FREE_LIST_PAGES;
    let bytes = 0;
    for (const { key, record } of changes) {
      if (record === undefined) continue;
      const inline = NODE_HEADER_BYTES + key.length + record.length;
      if (inline <= (pageSize - PAGE_HEADER_BYTES) / 2) bytes += inline;
      else {
        bytes += NODE_HEADER_BYTES + key.length + 8;
        needed += Math.ceil((PAGE_HEADER_BYTES + record.length) / pageSize);
      }
    }
    // A page that is split leaves two halves.
    needed += Math.ceil((2 * bytes) / pageSize);
    const used = this.#data.env.info().lastPageNumber + 1;
    const left = Math.floor(this.#mapSize / pageSize) - (reserve ? 0 : RESERVED_PAGES) - used;
    if (needed <= left) return true;
    // Pages that the last transactions freed are not to be had yet, nor those that a reader may still look at.
    const { free } = this.#data.getStats();
    const freeList = free.treeBranchPageCount + free.treeLeafPageCount + free.overflowPages;
    const freed = used - 2 - treePages - overflowPages - freeList;
    return needed <= left + Math.floor(freed / 2);
  }

  /** To be called last in a transaction: throws, so that it is rolled back, where the reckoning was wrong. */
  requireUngrown(): void {
    const { mapSize } = this.#data.env.info();
    if (mapSize <= this.#grownTo) return;
    // The map stays as large as it has become until the process lets go of the environment.
    this.#grownTo = mapSize;
    throw new MapGrown(`the map grew to ${mapSize} bytes, mapSize is ${this.#mapSize}`);
  }

  #refuse(executor: BatchExecutor, requests: readonly number[]): void {
    for (const request of requests) {
      const actual = Math.max(0, executor.growth(request));
      executor.refuse(request, {
        status: Status.mapFull,
        write: 0,
        mutation: NO_MUTATION,
        limit: this.#mapSize,
        actual,
      });
    }
  }
}

function requestsWhere(executor: BatchExecutor, test: (growth: number) => boolean): number[] {
  const found: number[] = [];
  for (let request = 0; request < executor.requests; request++) {
    if (executor.applied(request) && test(executor.growth(request))) found.push(request);
  }
  return found;
}
