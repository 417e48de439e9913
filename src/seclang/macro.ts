import { loadError, type Position, quote } from './position.js';

/** `%{NAME}`, `%{NAME.key}` or `%{NAME:key}`. */
export interface Macro {
  /** Upper case. */
  readonly variable: string;
  /** As written; undefined where the macro names the variable alone. */
  readonly key: string | undefined;
}

/** Text with macros in it, taken apart once. All text is bytes. */
export interface Template {
  readonly parts: readonly (string | Macro)[];
  /** The whole, where there is no macro in it. */
  readonly literal: string | undefined;
}

/** What a macro stands for at the time, as bytes; undefined = nothing, which expands to nothing. */
export type Expand = (macro: Macro) => string | undefined;

/** Throws a load error for a macro without an end or a name. */
export function parseTemplate(text: string, position: Position): Template {
  const parts: (string | Macro)[] = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf('%{', at);
    if (open === -1) break;
    const close = text.indexOf('}', open);
    if (close === -1) {
      throw loadError(
        position,
        'macro',
        `the macro ${quote(text.slice(open, open + 100))} has no end`,
        'close it with }',
      );
    }
    if (open > at) parts.push(text.slice(at, open));
    parts.push(parseMacro(text.slice(open + 2, close), position));
    at = close + 1;
  }
  if (at < text.length) parts.push(text.slice(at));
  return { parts, literal: parts.every(isLiteral) ? text : undefined };
}

const MACRO = /^\s*([A-Za-z_][A-Za-z0-9_]*)(?:[.:]([\s\S]*\S))?\s*$/;

function parseMacro(text: string, position: Position): Macro {
  const match = text.length > 2048 ? null : MACRO.exec(text);
  if (match === null) {
    throw loadError(
      position,
      'macro',
      `%{…} holds ${quote(text)}, which names no variable`,
      'write %{NAME}, %{NAME.key} or %{NAME:key}',
    );
  }
  return { variable: (match[1] as string).toUpperCase(), key: match[2] };
}

function isLiteral(part: string | Macro): part is string {
  return typeof part === 'string';
}

export function expand(template: Template, resolve: Expand): string {
  if (template.literal !== undefined) return template.literal;
  let text = '';
  for (const part of template.parts) text += isLiteral(part) ? part : (resolve(part) ?? '');
  return text;
}

export function macrosOf(template: Template): Macro[] {
  return template.parts.filter((part): part is Macro => !isLiteral(part));
}

/** The text that the template was parsed from, but for blanks inside of macros. */
export function printTemplate(template: Template): string {
  return template.parts
    .map((part) =>
      isLiteral(part) ? part : `%{${part.variable}${part.key === undefined ? '' : `.${part.key}`}}`,
    )
    .join('');
}
