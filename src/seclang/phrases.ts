/**
 * Many phrases at once, without regard to ASCII case: Aho and Corasick, "Efficient string matching" (1975). Finding takes time
 * linear in the value, whatever and however many the phrases are.
 */
export class PhraseSet {
  /** 256 transitions a state. */
  readonly #next: Int32Array;
  /** The length of the longest phrase that ends in a state, 0 = none. */
  readonly #ends: Int32Array;

  constructor(phrases: readonly string[]) {
    const children: Map<number, number>[] = [new Map()];
    const ends: number[] = [0];
    for (const phrase of phrases) {
      let state = 0;
      for (let at = 0; at < phrase.length; at++) {
        const code = fold(phrase.charCodeAt(at));
        let child = (children[state] as Map<number, number>).get(code);
        if (child === undefined) {
          child = children.push(new Map()) - 1;
          ends.push(0);
          (children[state] as Map<number, number>).set(code, child);
        }
        state = child;
      }
      ends[state] = phrase.length;
    }
    this.#next = new Int32Array(children.length * 256);
    this.#ends = Int32Array.from(ends);
    this.#link(children);
  }

  /** The first phrase in the value, as the value spells it. */
  find(value: string): string | undefined {
    let state = 0;
    for (let at = 0; at < value.length; at++) {
      state = this.#next[state * 256 + fold(value.charCodeAt(at))] as number;
      const length = this.#ends[state] as number;
      if (length > 0) return value.slice(at + 1 - length, at + 1);
    }
    return undefined;
  }

  /** In order of depth, so that the state to fall back to is complete before it is copied. */
  #link(children: readonly Map<number, number>[]): void {
    const fallback = new Int32Array(children.length);
    const queue = [0];
    for (let head = 0; head < queue.length; head++) {
      const state = queue[head] as number;
      const back = fallback[state] as number;
      if (state !== 0) this.#next.copyWithin(state * 256, back * 256, back * 256 + 256);
      if (this.#ends[state] === 0) this.#ends[state] = this.#ends[back] as number;
      for (const [code, child] of children[state] as Map<number, number>) {
        fallback[child] = state === 0 ? 0 : (this.#next[back * 256 + code] as number);
        this.#next[state * 256 + code] = child;
        queue.push(child);
      }
    }
  }
}

function fold(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 32 : code & 0xff;
}
