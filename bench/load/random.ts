/**
 * Marsaglia's xorshift32: a sequence that is the same in every run and every subject, at a nanosecond a number. Not for
 * secrets.
 */
export class Random {
  #state: number;

  /** `seed`: any integer; 0 would stay 0 for ever and is replaced. */
  constructor(seed: number) {
    this.#state = seed | 0 || 0x9e3779b9;
  }

  /** An unsigned 32-bit integer, never 0. */
  next(): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return x >>> 0;
  }

  /** An integer from 0 to `count - 1`, `count` at most 2^32. */
  below(count: number): number {
    return Math.floor((this.next() / 2 ** 32) * count);
  }

  /** From 0 up to but not including 1. */
  fraction(): number {
    return this.next() / 2 ** 32;
  }
}
