import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { ByteString } from '../contract/bytes.js';
import { parseInteger } from '../contract/variable.js';
import { AddressRanges } from './address-ranges.js';
import { type Expand, expand, parseTemplate, type Template } from './macro.js';
import { compilePattern } from './pattern.js';
import { PhraseSet } from './phrases.js';
import { loadError, type Position, quote } from './position.js';
import { unsupported } from './unsupported.js';

/** A test of one value. */
export interface Operator {
  /** `expandMacro` is for the argument; `wantsGroups` asks for what matched and its groups where the operator has them. */
  run(value: string, expandMacro: Expand, wantsGroups: boolean): boolean | readonly string[];
  /** The argument, where macros in it are expanded. */
  readonly argument?: Template;
}

export interface OperatorOptions {
  readonly regex: 'linear' | 'backtracking';
}

type Compile = (argument: string, position: Position, options: OperatorOptions) => Operator;

/** `!@name argument`; without a name it is `@rx`. Throws load errors. */
export function parseOperator(
  text: string,
  position: Position,
  options: OperatorOptions,
): { operator: Operator; name: string; negated: boolean } {
  const match = /^\s*(!?)\s*@([A-Za-z0-9_]+)(?:[\t\n\v\f\r ]+([\s\S]*))?$/.exec(text);
  if (match === null) {
    const negated = text.startsWith('!');
    const bare = negated ? text.slice(1) : text;
    if (/^\s*@/.test(bare)) {
      throw loadError(position, 'operator', `${quote(text)} is no operator`, 'write @name and its argument');
    }
    return { operator: compileRx(bare, position, options), name: 'rx', negated };
  }
  const name = (match[2] as string).toLowerCase();
  const compile = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (compile === undefined)
    throw unsupported(position, `@${match[2]}`, `there is no operator @${match[2]} here`);
  return { operator: compile(match[3] ?? '', position, options), name, negated: match[1] === '!' };
}

function compileRx(pattern: string, position: Position, { regex }: OperatorOptions): Operator {
  refuseMacro('@rx', pattern, position);
  const matcher = compilePattern(pattern, '@rx', position, { backtracking: regex === 'backtracking' });
  return {
    run: (value, _, wantsGroups) => (wantsGroups ? (matcher.groups(value) ?? false) : matcher.test(value)),
  };
}

function refuseMacro(name: string, argument: string, position: Position): void {
  if (/%\{[A-Za-z]/.test(argument)) {
    throw unsupported(
      position,
      name,
      `${name} has a macro in its argument, which would be compiled anew for every request`,
    );
  }
}

/** Compares text with the argument after its macros. */
function text(compare: (value: string, argument: string) => boolean): Compile {
  return (argument, position) => {
    const template = parseTemplate(argument, position);
    return { argument: template, run: (value, expandMacro) => compare(value, expand(template, expandMacro)) };
  };
}

function numeric(compare: (value: number | bigint, argument: number | bigint) => boolean): Compile {
  return (argument, position) => {
    const template: Template = parseTemplate(argument, position);
    const constant = template.literal === undefined ? undefined : toNumber(template.literal);
    return {
      argument: template,
      run: (value, expandMacro) =>
        compare(toNumber(value), constant ?? toNumber(expand(template, expandMacro))),
    };
  };
}

const SHORT_NUMBER = /^-?\d{1,15}$/;

/** By the rule of additions. Numbers and bigints compare with each other. */
function toNumber(value: string): number | bigint {
  return SHORT_NUMBER.test(value) ? Number(value) : parseInteger(value as ByteString);
}

function compilePhrases(words: readonly string[], position: Position, name: string): Operator {
  const bytes = words.reduce((sum, word) => sum + word.length, 0);
  if (bytes > MAX_PHRASE_BYTES) {
    throw loadError(
      position,
      name,
      `${name} has ${bytes} bytes of phrases, the most is ${MAX_PHRASE_BYTES}`,
      'take some out, or give them to several rules',
    );
  }
  const phrases = new PhraseSet(words);
  return {
    run: (value, _, wantsGroups) => {
      const found = phrases.find(value);
      return wantsGroups && found !== undefined ? [found] : found !== undefined;
    },
  };
}

/** Each byte may become a state of 1 KiB. */
const MAX_PHRASE_BYTES = 65_536;

/** The lines of a file beside the rules, without comments and blanks. */
function linesOf(argument: string, position: Position, name: string): string[] {
  const path = resolve(dirname(position.file), argument.trim());
  let content: string;
  try {
    content = readFileSync(path, 'latin1');
  } catch (error) {
    throw loadError(
      position,
      name,
      `${name} cannot read ${quote(argument.trim())} (${(error as NodeJS.ErrnoException).code ?? 'failure'})`,
      `put the file there: ${path}`,
    );
  }
  return content
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

function compileAddresses(entries: readonly string[], position: Position, name: string): Operator {
  const ranges = new AddressRanges();
  for (const entry of entries) {
    if (ranges.add(entry)) continue;
    throw loadError(
      position,
      name,
      `${quote(entry)} is no address and no network`,
      'write 192.0.2.1, 192.0.2.0/24 or 2001:db8::/32',
    );
  }
  return { run: (value) => ranges.has(value) };
}

const compilePmFromFile: Compile = (argument, position) =>
  compilePhrases(linesOf(argument, position, '@pmFromFile'), position, '@pmFromFile');
const compileIpMatchFromFile: Compile = (argument, position) =>
  compileAddresses(linesOf(argument, position, '@ipMatchFromFile'), position, '@ipMatchFromFile');

const OPERATORS: Readonly<Record<string, Compile>> = {
  rx: compileRx,
  pm: (argument, position) => {
    refuseMacro('@pm', argument, position);
    return compilePhrases(
      argument.split(/\s+/).filter((word) => word !== ''),
      position,
      '@pm',
    );
  },
  pmfromfile: compilePmFromFile,
  pmf: compilePmFromFile,
  streq: text((value, argument) => value === argument),
  contains: text((value, argument) => value.includes(argument)),
  containsword: text(containsWord),
  beginswith: text((value, argument) => value.startsWith(argument)),
  endswith: text((value, argument) => value.endsWith(argument)),
  within: text((value, argument) => argument.includes(value)),
  eq: numeric((value, argument) => value >= argument && value <= argument),
  ge: numeric((value, argument) => value >= argument),
  gt: numeric((value, argument) => value > argument),
  le: numeric((value, argument) => value <= argument),
  lt: numeric((value, argument) => value < argument),
  ipmatch: (argument, position) =>
    compileAddresses(
      argument.split(',').map((entry) => entry.trim()),
      position,
      '@ipMatch',
    ),
  ipmatchfromfile: compileIpMatchFromFile,
  ipmatchf: compileIpMatchFromFile,
  validatebyterange: compileByteRange,
  unconditionalmatch: () => ({ run: () => true }),
  nomatch: () => ({ run: () => false }),
};

function containsWord(value: string, word: string): boolean {
  if (word === '') return true;
  for (let at = value.indexOf(word); at !== -1; at = value.indexOf(word, at + 1)) {
    if (!isWordByte(value[at - 1]) && !isWordByte(value[at + word.length])) return true;
  }
  return false;
}

function isWordByte(character: string | undefined): boolean {
  return character !== undefined && /[A-Za-z0-9_]/.test(character);
}

/** Matches where a byte is outside of all ranges. */
function compileByteRange(argument: string, position: Position): Operator {
  const allowed = new Uint8Array(256);
  for (const part of argument.split(',')) {
    const match = /^\s*(\d{1,3})(?:\s*-\s*(\d{1,3}))?\s*$/.exec(part);
    const from = Number(match?.[1]);
    const to = match?.[2] === undefined ? from : Number(match[2]);
    if (match === null || from > to || to > 255) {
      throw loadError(
        position,
        '@validateByteRange',
        `${quote(part)} is no range of bytes`,
        'write numbers and ranges from 0 to 255, such as 9,10,32-126',
      );
    }
    allowed.fill(1, from, to + 1);
  }
  return {
    run: (value) => {
      for (let at = 0; at < value.length; at++) if (allowed[value.charCodeAt(at)] === 0) return true;
      return false;
    },
  };
}
