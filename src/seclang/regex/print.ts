import { ALL, type ByteSet, type Node, not } from './syntax.js';

/** The two engines, which differ in how they write what stands at a line's ends. */
export type Dialect = 'v8' | 're2';

/** The pattern for an engine that takes bytes as the characters U+0000 to U+00FF, without flags. */
export function printPattern(node: Node, dialect: Dialect): string {
  switch (node.type) {
    case 'set':
      return printSet(node.set);
    case 'sequence':
      return node.items
        .map((item) => (item.type === 'choice' ? group(item, dialect) : printPattern(item, dialect)))
        .join('');
    case 'choice':
      return node.items.map((item) => printPattern(item, dialect)).join('|');
    case 'repeat':
      return `${printRepeated(node.item, dialect)}${printBounds(node.least, node.most)}${node.lazy ? '?' : ''}`;
    case 'capture':
      return `(${printPattern(node.item, dialect)})`;
    case 'look':
      return `(${node.opening}${printPattern(node.item, dialect)})`;
    case 'back':
      return `(?:\\${node.group})`;
    case 'assertion':
      return ASSERTIONS[dialect][node.kind];
  }
}

const ASSERTIONS = {
  v8: { start: '^', end: '$', lineStart: '(?<![^\\n])', lineEnd: '(?![^\\n])', word: '\\b', notWord: '\\B' },
  re2: { start: '\\A', end: '\\z', lineStart: '(?m:^)', lineEnd: '(?m:$)', word: '\\b', notWord: '\\B' },
} as const;

function group(node: Node, dialect: Dialect): string {
  return `(?:${printPattern(node, dialect)})`;
}

function printRepeated(node: Node, dialect: Dialect): string {
  return node.type === 'set' || node.type === 'capture' ? printPattern(node, dialect) : group(node, dialect);
}

function printBounds(least: number, most: number): string {
  if (most === Number.POSITIVE_INFINITY) return least === 0 ? '*' : least === 1 ? '+' : `{${least},}`;
  if (least === 0 && most === 1) return '?';
  return least === most ? `{${least}}` : `{${least},${most}}`;
}

function printSet(set: ByteSet): string {
  if (set === ALL) return '[\\x00-\\xff]';
  if (set === 0n) return '[^\\x00-\\xff]';
  const single = set & (set - 1n);
  if (single === 0n) return printByte(set.toString(2).length - 1);
  const runs = printRuns(set);
  const others = printRuns(not(set));
  // Bytes are all there is, so the complement may be named where it is shorter.
  return others.length < runs.length ? `[^${others}]` : `[${runs}]`;
}

function printRuns(set: ByteSet): string {
  let text = '';
  for (let from = 0; from < 256; from++) {
    if (((set >> BigInt(from)) & 1n) === 0n) continue;
    let to = from;
    while (to < 255 && ((set >> BigInt(to + 1)) & 1n) === 1n) to++;
    text += from === to ? printByte(from) : `${printByte(from)}-${printByte(to)}`;
    from = to;
  }
  return text;
}

function printByte(code: number): string {
  const character = String.fromCharCode(code);
  return /[A-Za-z0-9]/.test(character) ? character : `\\x${code.toString(16).padStart(2, '0')}`;
}
