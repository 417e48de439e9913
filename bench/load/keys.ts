import { Random } from './random.js';

/** Which keys a round of load goes to. */
export type KeySet =
  /** Every operation draws one of `count` addresses, all alike; they exist before the clock starts. */
  | { readonly kind: 'uniform'; readonly count: number }
  /**
   * The traffic of the memory cases: 100,000 known addresses drawn by Zipf's law with exponent 1, and every fifth operation from an
   * address that was never seen before. `operations` are drawn before the clock starts.
   */
  | { readonly kind: 'traffic'; readonly operations: number }
  /** Uniform, but `operations` of them are drawn before the clock starts, each a string of its own. */
  | { readonly kind: 'drawn'; readonly count: number; readonly operations: number };

export const TRAFFIC_ADDRESSES = 100_000;
const NEW_SHARE = 0.2;
/** Where addresses begin that are not among the known ones. */
const FIRST_NEW = 2 ** 24;

/** The text of an IPv4 address by its number; 10.0.0.0 is number 0, as in bench/limit/limit.c. */
export function address(number: number): string {
  const bits = (0x0a000000 + number) >>> 0;
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
}

/** Gives one key after the other; `undefined` = a round of drawn keys is used up. */
export interface KeySource {
  next(): string | undefined;
}

/** The keys of round after round, the same for every subject that is given the same key set and seed. */
export class Keys {
  readonly #random: Random;
  readonly #set: KeySet;
  readonly #known: readonly string[];
  readonly #cumulative: Float64Array;
  #fresh = FIRST_NEW;

  constructor(set: KeySet, seed = 1) {
    this.#random = new Random(seed);
    this.#set = set;
    this.#known = set.kind === 'uniform' ? Array.from({ length: set.count }, (_, i) => address(i)) : [];
    this.#cumulative = set.kind === 'traffic' ? zipf(TRAFFIC_ADDRESSES) : new Float64Array(0);
  }

  /** Every address that exists before the first round. */
  known(): string[] {
    const count = this.#set.kind === 'traffic' ? TRAFFIC_ADDRESSES : this.#set.count;
    return Array.from({ length: count }, (_, i) => address(i));
  }

  round(): KeySource {
    const set = this.#set;
    const random = this.#random;
    switch (set.kind) {
      case 'uniform': {
        const known = this.#known;
        return { next: () => known[random.below(known.length)] };
      }
      case 'drawn':
        return drawn(set.operations, () => random.below(set.count));
      case 'traffic':
        return drawn(set.operations, () =>
          random.fraction() < NEW_SHARE ? this.#fresh++ : rank(this.#cumulative, random),
        );
    }
  }
}

function drawn(operations: number, number: () => number): KeySource {
  const keys = Array.from({ length: operations }, () => flat(address(number())));
  let at = 0;
  return { next: () => keys[at++] };
}

/**
 * A string of its own, in one piece and with no hash yet: what a server gets off a socket. The same object used twice would
 * spare a Map the hashing, and a concatenation is flattened only at its first use.
 */
function flat(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Cumulative shares of Zipf's law with exponent 1. */
function zipf(count: number): Float64Array {
  const cumulative = new Float64Array(count);
  let sum = 0;
  for (let i = 0; i < count; i++) {
    sum += 1 / (i + 1);
    cumulative[i] = sum;
  }
  for (let i = 0; i < count; i++) cumulative[i] = (cumulative[i] as number) / sum;
  return cumulative;
}

/** Draws a rank: the first whose cumulative share exceeds a random fraction. */
function rank(cumulative: Float64Array, random: Random): number {
  const fraction = random.fraction();
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cumulative[middle] as number) > fraction) high = middle;
    else low = middle + 1;
  }
  return low;
}
