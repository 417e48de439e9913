import { loadError, type Piece, type Position, positionAt, quote } from './position.js';

/** One entry of an action list, `name` or `name:value`, without its quotes. */
export interface Action {
  /** Lower case. */
  readonly name: string;
  /** Undefined where there is no colon. */
  readonly value: string | undefined;
  readonly position: Position;
}

const SPACE = /[\t\n\v\f\r ]/;
const NAME = /[A-Za-z0-9_]/;

/**
 * Takes an action list apart: `id:1,setvar:'ip.a=b, c'`. A value that begins with an apostrophe, or has one right after an
 * equals sign (`initcol:ip='x'`), goes to the next apostrophe that no backslash precedes. One pass over the text.
 */
export function parseActionList(piece: Piece): Action[] {
  const { text } = piece;
  const actions: Action[] = [];
  let at = 0;
  const skipSpace = () => {
    while (at < text.length && SPACE.test(text[at] as string)) at++;
  };
  skipSpace();
  if (at === text.length) return actions;
  for (;;) {
    skipSpace();
    const start = at;
    const position = positionAt(piece, start);
    while (at < text.length && NAME.test(text[at] as string)) at++;
    const name = text.slice(start, at).toLowerCase();
    skipSpace();
    if (name === '' || (at < text.length && text[at] !== ':' && text[at] !== ',')) {
      const rest = text.slice(start, start + 100);
      throw loadError(
        position,
        'actions',
        `${quote(rest)} does not begin with an action's name`,
        'write name or name:value, with commas between, and values that hold a comma in apostrophes',
      );
    }
    let value: string | undefined;
    if (text[at] === ':') {
      at++;
      skipSpace();
      [value, at] = readValue(piece, at, name);
      skipSpace();
    }
    actions.push({ name, value, position });
    if (at >= text.length) return actions;
    if (text[at] !== ',') {
      throw loadError(
        positionAt(piece, at),
        name,
        `there is text after the closing apostrophe of ${name}`,
        'put a comma there, or a backslash before an apostrophe that belongs to the value',
      );
    }
    at++;
  }
}

/** The value that begins at `at`, and where it ends. */
function readValue(piece: Piece, at: number, name: string): [value: string, end: number] {
  const { text } = piece;
  if (text[at] === "'") return readQuoted(piece, at, name);
  const start = at;
  while (at < text.length && text[at] !== ',') {
    if (text[at] === "'" && text[at - 1] === '=') {
      const head = text.slice(start, at);
      const [value, end] = readQuoted(piece, at, name);
      return [head + value, end];
    }
    at++;
  }
  return [text.slice(start, at).trimEnd(), at];
}

function readQuoted(piece: Piece, at: number, name: string): [value: string, end: number] {
  const { text } = piece;
  const parts: string[] = [];
  let from = at + 1;
  for (;;) {
    const close = text.indexOf("'", from);
    if (close === -1) {
      throw loadError(
        positionAt(piece, at),
        name,
        `the value of ${name} has no closing apostrophe`,
        'close it, or write the value without one',
      );
    }
    if (text[close - 1] !== '\\' || close - 1 < from) {
      parts.push(text.slice(from, close));
      return [parts.join(''), close + 1];
    }
    parts.push(text.slice(from, close - 1), "'");
    from = close + 1;
  }
}
