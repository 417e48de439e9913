/** A regular expression over bytes, as a tree. Case is folded and `.` spelled out, so that no flag is left. */
export type Node =
  | { readonly type: 'set'; readonly set: ByteSet }
  | { readonly type: 'sequence'; readonly items: readonly Node[] }
  | { readonly type: 'choice'; readonly items: readonly Node[] }
  | {
      readonly type: 'repeat';
      readonly item: Node;
      readonly least: number;
      /** Infinity = no bound. */
      readonly most: number;
      readonly lazy: boolean;
    }
  | { readonly type: 'capture'; readonly item: Node }
  | { readonly type: 'assertion'; readonly kind: Assertion }
  | { readonly type: 'look'; readonly item: Node; readonly opening: '?=' | '?!' | '?<=' | '?<!' }
  | { readonly type: 'back'; readonly group: number };

export type Assertion = 'start' | 'end' | 'lineStart' | 'lineEnd' | 'word' | 'notWord';

/** 256 bits: bit n is byte n. */
export type ByteSet = bigint;

export const ALL: ByteSet = (1n << 256n) - 1n;

export function range(from: number, to: number): ByteSet {
  return from > to ? 0n : ((1n << BigInt(to - from + 1)) - 1n) << BigInt(from);
}

export function byte(code: number): ByteSet {
  return 1n << BigInt(code);
}

export function not(set: ByteSet): ByteSet {
  return ALL ^ set;
}

const UPPER = range(0x41, 0x5a);
const LOWER = range(0x61, 0x7a);

/** With the other case of every ASCII letter in it. */
export function foldCase(set: ByteSet): ByteSet {
  return set | ((set & UPPER) << 32n) | ((set & LOWER) >> 32n);
}

const DIGIT = range(0x30, 0x39);
const SPACE = range(0x09, 0x0d) | byte(0x20);
const WORD = DIGIT | UPPER | LOWER | byte(0x5f);
const BLANK = byte(0x09) | byte(0x20);
const VERTICAL = range(0x0a, 0x0d);

/** `\d` and its like, as PCRE has them without Unicode. */
export const ESCAPED_SETS: Readonly<Record<string, ByteSet>> = {
  d: DIGIT,
  D: not(DIGIT),
  s: SPACE,
  S: not(SPACE),
  w: WORD,
  W: not(WORD),
  h: BLANK,
  H: not(BLANK),
  v: VERTICAL,
  V: not(VERTICAL),
  N: not(byte(0x0a)),
};

/** `[:alpha:]` and its like. */
export const POSIX_SETS: Readonly<Record<string, ByteSet>> = {
  alnum: DIGIT | UPPER | LOWER,
  alpha: UPPER | LOWER,
  ascii: range(0, 0x7f),
  blank: BLANK,
  cntrl: range(0, 0x1f) | byte(0x7f),
  digit: DIGIT,
  graph: range(0x21, 0x7e),
  lower: LOWER,
  print: range(0x20, 0x7e),
  punct: range(0x21, 0x7e) & not(DIGIT | UPPER | LOWER),
  space: SPACE,
  upper: UPPER,
  word: WORD,
  xdigit: DIGIT | range(0x41, 0x46) | range(0x61, 0x66),
};
