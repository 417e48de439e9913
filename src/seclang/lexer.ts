import { breaksUpTo, loadError, type Piece, type Position, positionAt, quote } from './position.js';

/** One directive of a rule file: its name, and its arguments without their quotes. */
export interface Directive {
  /** As written. */
  readonly name: string;
  readonly words: readonly Piece[];
  readonly position: Position;
}

/**
 * Takes a rule file apart. A backslash before a line's end continues the line; a line that begins with # is a comment; arguments are
 * separated by blanks or stand in quotes or apostrophes, where a backslash keeps a quote from ending them. One pass over the text.
 */
export function readDirectives(text: string, file: string): Directive[] {
  const directives: Directive[] = [];
  let at = 0;
  let line = 1;
  while (at < text.length) {
    let joined = '';
    const breaks: number[] = [];
    const first = line;
    for (;;) {
      const newline = text.indexOf('\n', at);
      let end = newline === -1 ? text.length : newline;
      const next = newline === -1 ? text.length : newline + 1;
      if (end > at && text[end - 1] === '\r') end--;
      const continues = newline !== -1 && end > at && text[end - 1] === '\\';
      joined += text.slice(at, continues ? end - 1 : end);
      at = next;
      line++;
      if (!continues) break;
      breaks.push(joined.length);
    }
    const directive = readLine({ text: joined, file, line: first, breaks });
    if (directive !== undefined) directives.push(directive);
  }
  return directives;
}

const BLANKS = /[\t\v\f\r ]*/y;
const WORD_END = /[\t\v\f\r ]|$/g;

function readLine(piece: Piece): Directive | undefined {
  const { text } = piece;
  let at = skipBlanks(text, 0);
  if (at === text.length || text[at] === '#') return undefined;
  const position = positionAt(piece, at);
  const words: Piece[] = [];
  let name: string | undefined;
  while (at < text.length) {
    const quoted = text[at] === '"' || text[at] === "'";
    const [word, end] = quoted ? readQuoted(piece, at) : readBare(piece, at);
    if (name === undefined) name = word.text;
    else words.push(word);
    at = skipBlanks(text, end);
    if (quoted && at === end && end < text.length) {
      throw loadError(
        positionAt(piece, end),
        name,
        `there is text right after a closing quote: ${quote(text.slice(end, end + 100))}`,
        'put a blank there, or a backslash before a quote that belongs to the argument',
      );
    }
  }
  return { name: name ?? '', words, position };
}

function skipBlanks(text: string, at: number): number {
  BLANKS.lastIndex = at;
  BLANKS.exec(text);
  return BLANKS.lastIndex;
}

function readBare(piece: Piece, start: number): [word: Piece, end: number] {
  WORD_END.lastIndex = start;
  const end = WORD_END.exec(piece.text)?.index ?? piece.text.length;
  return [cut(piece, start, end, piece.text.slice(start, end)), end];
}

function readQuoted(piece: Piece, start: number): [word: Piece, end: number] {
  const { text } = piece;
  const mark = text[start] as string;
  const parts: string[] = [];
  let from = start + 1;
  for (;;) {
    const close = text.indexOf(mark, from);
    if (close === -1) {
      throw loadError(
        positionAt(piece, start),
        'quoting',
        `the argument ${quote(text.slice(start, start + 100))} has no closing quote`,
        'close it on its line, or end the line with a backslash',
      );
    }
    let backslashes = 0;
    while (close - 1 - backslashes >= from && text[close - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) {
      parts.push(text.slice(from, close));
      return [cut(piece, start + 1, close, parts.join('')), close + 1];
    }
    parts.push(text.slice(from, close - 1), mark);
    from = close + 1;
  }
}

/** Lines are told exactly but for the few bytes that unescaped quotes have taken out. */
function cut(piece: Piece, start: number, end: number, text: string): Piece {
  const inside = piece.breaks
    .slice(breaksUpTo(piece, start), breaksUpTo(piece, end - 1))
    .map((offset) => offset - start);
  return { text, file: piece.file, line: positionAt(piece, start).line, breaks: inside };
}
