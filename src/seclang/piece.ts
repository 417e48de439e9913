import type { Piece } from './position.js';

/** Text with its line continuations taken out, and every line break that is left as it is. */
export function joinLines(text: string, file: string, line: number): Piece {
  const breaks: number[] = [];
  let joined = '';
  let from = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    const end = text[at - 1] === '\r' ? at - 1 : at;
    const continues = end > from && text[end - 1] === '\\';
    joined += text.slice(from, continues ? end - 1 : at + 1);
    breaks.push(joined.length);
    from = at + 1;
  }
  return { text: joined + text.slice(from), file, line, breaks };
}
