import { Collections } from '../collections/collections.js';
import type { Backend } from '../contract/backend.js';
import { SECOND } from '../contract/clock.js';

/** Over `limit` requests within `window` seconds of the first: blocked for `block` seconds. */
export interface LimitRule {
  readonly limit: number;
  readonly window: number;
  readonly block: number;
}

export type Verdict =
  | { readonly type: 'passed' }
  /** A block from an earlier request still stands. */
  | { readonly type: 'refused' }
  /** This request went over the limit. Times in nanoseconds since the epoch. */
  | { readonly type: 'blocked'; readonly requests: number; readonly at: bigint; readonly until: bigint };

const PASSED: Verdict = { type: 'passed' };
const REFUSED: Verdict = { type: 'refused' };

/** The application id of everything a replay keeps. */
export const REPLAY_APPLICATION = 'replay';

/**
 * Judges one request after the other, each as one transaction at the log's own time. Requests of one client are judged
 * in order, those of different clients side by side: that is what lets an engine commit many at once.
 */
export class Judge {
  readonly #backend: Backend;
  readonly #rule: LimitRule;
  readonly #busy = new Map<string, Promise<Verdict>>();
  #collections: Collections;
  #time: bigint;

  constructor(backend: Backend, rule: LimitRule, start: bigint) {
    this.#backend = backend;
    this.#rule = rule;
    this.#time = start;
    this.#collections = this.#at(start);
  }

  /** REQUIRES: `time` never goes back. */
  judge(client: string, time: bigint): Promise<Verdict> {
    if (time !== this.#time) {
      this.#time = time;
      this.#collections = this.#at(time);
    }
    const collections = this.#collections;
    const before = this.#busy.get(client);
    const verdict =
      before === undefined
        ? this.#transact(collections, client, time)
        : before.then(() => this.#transact(collections, client, time));
    this.#busy.set(client, verdict);
    const forget = () => {
      if (this.#busy.get(client) === verdict) this.#busy.delete(client);
    };
    verdict.then(forget, forget);
    return verdict;
  }

  async #transact(collections: Collections, client: string, time: bigint): Promise<Verdict> {
    const { limit, window, block } = this.#rule;
    using tx = collections.begin();
    await tx.bind('ip', client);
    if (tx.get('ip', 'blocked') !== undefined) return REFUSED;

    const first = tx.get('ip', 'requests') === undefined;
    tx.add('ip', 'requests', 1);
    if (first) tx.expire('ip', 'requests', window);
    const requests = Number(tx.get('ip', 'requests'));
    if (requests > limit) {
      tx.set('ip', 'blocked', '1');
      tx.expire('ip', 'blocked', block);
    }
    await tx.processLogging();
    return requests > limit
      ? { type: 'blocked', requests, at: time, until: time + BigInt(block) * SECOND }
      : PASSED;
  }

  // The time of a transaction is its line's, also where it had to wait for the line before: hence a fixed clock each.
  #at(time: bigint): Collections {
    return new Collections({
      backend: this.#backend,
      applicationId: REPLAY_APPLICATION,
      clock: { now: () => time },
    });
  }
}
