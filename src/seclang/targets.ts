import { compilePattern } from './pattern.js';
import { loadError, type Piece, type Position, positionAt, quote } from './position.js';
import type { Matcher } from './regex/matcher.js';
import { unsupported } from './unsupported.js';
import { VARIABLES, type Variable } from './variables.js';

/** What a rule looks at: a variable, or some or all of the members of one that has members. */
export interface Target {
  /** Upper case, as MATCHED_VAR_NAME shows it. */
  readonly name: string;
  readonly variable: Variable;
  /** Undefined: all members. */
  readonly selector: Selector | undefined;
  /** How many there are, instead of what they are. */
  readonly counts: boolean;
  readonly exclusions: readonly (Selector | undefined)[];
}

/** Members by name, without regard to case, or by a regular expression on the name. */
export type Selector =
  | { readonly type: 'name'; readonly name: string; readonly lower: string }
  | { readonly type: 'regex'; readonly source: string; readonly matcher: Matcher };

const TARGET = /^([!&]?)\s*([A-Za-z_][A-Za-z0-9_]*)(?:([:.])([\s\S]+))?$/;

/** `ARGS|&IP:x|!ARGS:/^p_/`. Throws load errors. */
export function parseTargets(piece: Piece): Target[] {
  const targets: Target[] = [];
  const exclusions: { name: string; selector: Selector | undefined; position: Position }[] = [];
  for (const { text, offset } of splitTargets(piece)) {
    const position = positionAt(piece, offset);
    const match = TARGET.exec(text);
    if (match === null) {
      throw loadError(
        position,
        'target',
        `${quote(text)} is no target`,
        'write NAME, NAME:member, NAME:/regex/, &NAME or !NAME:member',
      );
    }
    const [, mark, word, , member] = match as unknown as [
      string,
      string,
      string,
      string | undefined,
      string | undefined,
    ];
    const name = word.toUpperCase();
    const variable = Object.hasOwn(VARIABLES, name) ? VARIABLES[name] : undefined;
    if (variable === undefined) throw unsupported(position, name, `there is no variable ${quote(word)} here`);
    if (member !== undefined && variable.type === 'single') {
      throw loadError(
        position,
        name,
        `${name} is one value and has no member ${quote(member)}`,
        `write ${name}`,
      );
    }
    const selector = member === undefined ? undefined : toSelector(member, position);
    if (mark === '!') exclusions.push({ name, selector, position });
    else targets.push({ name, variable, selector, counts: mark === '&', exclusions: [] });
  }
  for (const { name, position } of exclusions) {
    if (targets.some((target) => target.name === name)) continue;
    throw loadError(
      position,
      name,
      `!${name} excludes from a target that is not there`,
      `add ${name} or drop the exclusion`,
    );
  }
  return targets.map((target) => ({
    ...target,
    exclusions: exclusions.filter(({ name }) => name === target.name).map(({ selector }) => selector),
  }));
}

/** At every | outside of a regex and of apostrophes. */
function splitTargets(piece: Piece): { text: string; offset: number }[] {
  const { text } = piece;
  const parts: { text: string; offset: number }[] = [];
  let start = 0;
  let closing = '';
  for (let at = 0; at <= text.length; at++) {
    const character = text[at];
    if (closing !== '' && character !== undefined) {
      if (character === '\\') at++;
      else if (character === closing) closing = '';
      continue;
    }
    if ((character === '/' || character === "'") && text[at - 1] === ':') closing = character;
    else if (character === '|' || character === undefined) {
      parts.push({ text: text.slice(start, at).trim(), offset: start });
      start = at + 1;
    }
  }
  return parts;
}

function toSelector(member: string, position: Position): Selector {
  const text = /^'([\s\S]*)'$/.exec(member)?.[1] ?? member;
  const regex = /^\/([\s\S]*)\/$/.exec(text);
  if (regex === null) return { type: 'name', name: text, lower: lower(text) };
  const source = regex[1] as string;
  return { type: 'regex', source, matcher: compilePattern(source, 'target', position, { ignoreCase: true }) };
}

/** ASCII alone: names are bytes. */
export function lower(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (run) => run.toLowerCase()) : text;
}

export function selects(selector: Selector | undefined, name: string): boolean {
  if (selector === undefined) return true;
  return selector.type === 'name' ? selector.lower === lower(name) : selector.matcher.test(name);
}
