import { channel } from 'node:diagnostics_channel';

/** How many records made room for others, by why it was them. */
export interface Evictions {
  /** Timed out, or without a variable that is not expired: nobody misses them. */
  readonly ended: number;
  /** Seen by one commit only, the oldest first. */
  readonly seenOnce: number;
  readonly leastRecentlyUsed: number;
  /** With a deadline more than five minutes ahead, such as a block: the table is too small. */
  readonly held: number;
}

/** The message of the channel `wafstate:evict`: what one commit evicted. No key of a client stands in it. */
export interface EvictionMessage {
  readonly engine: 'shared-memory';
  readonly table: string;
  readonly evicted: Evictions;
}

const evict = channel('wafstate:evict');

/** Whether anybody wants to know: the counts need not be fetched else. */
export function evictionsAreWatched(): boolean {
  return evict.hasSubscribers;
}

export function publishEvictions(table: string, evicted: Evictions): void {
  evict.publish({ engine: 'shared-memory', table, evicted } satisfies EvictionMessage);
}
