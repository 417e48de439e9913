import { WafStateError } from '../../contract/errors.js';
import type { Environment } from './environment.js';
import { RESERVED_PAGES } from './room.js';

/**
 * Tells a commit for which the map has no room how full it is, in pages: room is given and taken by whole ones, so the bytes that a
 * commit lacks say nothing of what has to go.
 */
export class MapFull {
  /** How full, for all that are refused in one turn of the event loop: a look costs more than a refusal. */
  #told: string | undefined;

  /** The error that a refused commit rejects with; any other comes back as it is. */
  explain(refusal: WafStateError, environment: Environment): WafStateError {
    const { code, details } = refusal;
    if (code !== 'capacity_exceeded' || details.option !== 'mapSize') return refusal;
    try {
      this.#told ??= this.#look(environment);
    } catch (error) {
      // The commit is refused all the same, and why is known: only the figures are not.
      if (error instanceof WafStateError) return refusal;
      throw error;
    }
    return new WafStateError('capacity_exceeded', this.#told, { details, cause: refusal });
  }

  #look(environment: Environment): string {
    const { mapSize, pageSize, usedPages } = environment.stats();
    setImmediate(() => {
      this.#told = undefined;
    });
    const pages = Math.floor(mapSize / pageSize);
    const reserved = environment.implementation === 'typescript' ? RESERVED_PAGES : nativeReserve(pages);
    return `the map of ${mapSize} bytes is full: ${usedPages} of its ${pages} pages are in use, ${reserved} are kept for removals and cleanup, and a commit takes a copy of each page it changes; open with a larger mapSize, or remove records: a page comes free with the last record in it, so some removals bring no room`;
  }
}

/** What native/core/page_budget.h keeps from commits that make records longer. */
function nativeReserve(pages: number): number {
  const step = Math.min(Math.max(Math.floor(pages / 64), 16), 1024);
  return Math.floor(pages / 512) + 16 + 2 * step;
}
