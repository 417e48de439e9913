import { decodeText } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';

/** Where in the rules something stands: what every load error begins with. */
export interface Position {
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** A piece of rule text, freed of the line continuations in it, that still knows the line of each of its bytes. */
export interface Piece {
  /** Bytes: rules are matched against bytes, so that is how they are read. */
  readonly text: string;
  readonly file: string;
  /** Of the first byte. */
  readonly line: number;
  /** Offsets in `text`, ascending, at each of which another line begins. */
  readonly breaks: readonly number[];
}

export function positionAt(piece: Piece, offset: number): Position {
  return { file: piece.file, line: piece.line + breaksUpTo(piece, offset) };
}

/** How many of the piece's lines begin at or before `offset`. By bisection: hostile text has millions of lines and words. */
export function breaksUpTo({ breaks }: Piece, offset: number): number {
  let low = 0;
  let high = breaks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((breaks[middle] as number) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * `invalid_option` that names file, line, construct and fix. Rules are the operator's, so they are quoted; what a client
 * sent never comes here.
 */
export function loadError(
  position: Position,
  construct: string,
  problem: string,
  fix: string,
): WafStateError {
  return new WafStateError('invalid_option', `${position.file}:${position.line}: ${problem}; ${fix}`, {
    details: { option: construct },
  });
}

const EXCERPT = 60;

/** Rule text for a message: one line, and short however long the text is. */
export function quote(text: string): string {
  const head = text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
  // The cut may have gone through a character, and rules may hold anything.
  return `'${decodeText(encodeBytes(head)).replace(/\p{Cc}/gu, ' ')}'`;
}

/** The ellipsis is the only thing in an excerpt that is no byte. */
function encodeBytes(head: string): Parameters<typeof decodeText>[0] {
  return head.replace('…', Buffer.from('…').toString('latin1')) as Parameters<typeof decodeText>[0];
}
