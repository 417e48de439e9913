/** A seeded source of choices (mulberry32): the same seed gives the same pairs on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  uint32(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** 0 to `bound` - 1. */
  below(bound: number): number {
    return this.uint32() % bound;
  }

  chance(probability: number): boolean {
    return this.uint32() < probability * 2 ** 32;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }

  /** Any signed 64-bit integer. */
  int64(): bigint {
    return BigInt.asIntN(64, (BigInt(this.uint32()) << 32n) | BigInt(this.uint32()));
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let i = 0; i < length; i++) bytes[i] = this.uint32();
    return bytes;
  }
}
