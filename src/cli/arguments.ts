import { type ParseArgsConfig, parseArgs } from 'node:util';
import { INT64_MAX, INT64_MIN } from '../contract/clock.js';
import { nearestName } from '../contract/options.js';

/** How the process ends: what scripts go by. */
export const EXIT = {
  success: 0,
  /** The command ran and found what it looks for: damage, an absent record. */
  finding: 1,
  /** The command line is wrong: nothing was done. */
  usage: 2,
  /** The command could not do its work. */
  failure: 3,
} as const;

/** The command line is wrong; the message says what is right. */
export class UsageError extends Error {}

export interface Option {
  readonly type: 'text' | 'path' | 'integer' | 'flag' | 'choice' | 'time';
  /** What stands after the name in the help: FILE, SECONDS. */
  readonly placeholder?: string;
  readonly help: string;
  readonly initial?: string | number;
  readonly choices?: readonly string[];
  readonly least?: number;
  readonly most?: number;
}

export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  /** Names of the positional arguments; a trailing `?` marks an optional one, a trailing `…` one or more. */
  readonly operands: readonly string[];
  readonly options: Readonly<Record<string, Option>>;
  /** Worked examples and what is good to know, for `--help`. */
  readonly notes: string;
}

/** What was given, by option name; absent options have their initial value, or are absent. */
export interface Arguments {
  text(name: string): string | undefined;
  integer(name: string): number | undefined;
  /** Nanoseconds since the epoch. */
  time(name: string): bigint | undefined;
  flag(name: string): boolean;
  /** Whether the option stands on the command line. */
  given(name: string): boolean;
  readonly operands: readonly string[];
}

const GLOBAL_OPTIONS: Readonly<Record<string, Option>> = {
  json: { type: 'flag', help: 'print one JSON object instead of text' },
  help: { type: 'flag', help: 'show this help' },
};

/** Throws `UsageError`. */
export function parseCommandLine(spec: CommandSpec, argv: readonly string[]): Arguments {
  const options = { ...spec.options, ...GLOBAL_OPTIONS };
  const { values, positionals } = parse(spec, options, argv);
  const parsed = new Map<string, string | number | bigint | boolean>();
  for (const [name, option] of Object.entries(options)) {
    const given = values[name] ?? option.initial;
    if (given !== undefined) parsed.set(name, convert(name, option, given));
  }
  const needed = spec.operands.filter((operand) => !operand.endsWith('?')).length;
  const most = spec.operands.at(-1)?.endsWith('…') ? Number.POSITIVE_INFINITY : spec.operands.length;
  if (parsed.get('help') !== true && (positionals.length < needed || positionals.length > most)) {
    throw new UsageError(
      `'wafstate ${spec.name}' takes ${spec.operands.length === 0 ? 'no arguments' : spec.operands.join(' ')}, got ${positionals.length}`,
    );
  }
  const nameless = positionals.indexOf('');
  if (nameless >= 0) {
    const operand = spec.operands[Math.min(nameless, spec.operands.length - 1)]?.replace(/[?…]$/, '');
    throw new UsageError(`${operand} of 'wafstate ${spec.name}' is empty`);
  }
  const value = <T>(name: string): T | undefined => parsed.get(name) as T | undefined;
  return {
    text: value,
    integer: value,
    time: value,
    flag: (name) => parsed.get(name) === true,
    given: (name) => values[name] !== undefined,
    operands: positionals,
  };
}

function parse(spec: CommandSpec, options: Readonly<Record<string, Option>>, argv: readonly string[]) {
  const config: ParseArgsConfig['options'] = Object.fromEntries(
    Object.entries(options).map(([name, option]) => [
      name,
      { type: option.type === 'flag' ? 'boolean' : 'string' },
    ]),
  );
  try {
    return parseArgs({ args: [...argv], options: config, allowPositionals: true, strict: true });
  } catch (error) {
    const { code, message } = error as Error & { readonly code: string };
    const named = /'(-[^' ]*)/.exec(message)?.[1] ?? '';
    const known = Object.keys(options).map((name) => `--${name}`);
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      const meant = nearestName(named, known);
      throw new UsageError(
        `unknown option ${named}; ${meant === undefined ? '' : `did you mean ${meant}? `}'wafstate ${spec.name}' knows ${known.join(' ')}`,
      );
    }
    const value = argv[argv.indexOf(named) + 1];
    if (value?.startsWith('-') === true) throw dashed(named.slice(2), options, value);
    throw new UsageError(message);
  }
}

/** Node takes `--limit -1` for two options; what is wrong is the value, unless it is text that may begin so. */
function dashed(name: string, options: Readonly<Record<string, Option>>, value: string): UsageError {
  const option = options[name];
  if (option?.type === 'text' || option?.type === 'path')
    return new UsageError(
      `--${name} takes a value; one that begins with a dash is given as --${name}=${value}`,
    );
  if (option !== undefined && option.type !== 'flag') convert(name, option, value);
  return new UsageError(`--${name} takes a value, got the option ${value}`);
}

function convert(name: string, option: Option, given: string | number | boolean | (string | boolean)[]) {
  if (option.type === 'flag') return given === true;
  const text = String(given);
  switch (option.type) {
    case 'text':
      return text;
    case 'path':
      if (text !== '' && !text.includes('\0')) return text;
      throw new UsageError(
        `--${name} is the name of a ${option.placeholder === 'DIR' ? 'directory' : 'file'}, got none`,
      );
    case 'choice':
      if (option.choices?.includes(text) === true) return text;
      throw new UsageError(`--${name} is one of ${option.choices?.join(', ')}, got '${text}'`);
    case 'time':
      return convertTime(name, text);
    case 'integer': {
      const { least = 0, most = Number.MAX_SAFE_INTEGER } = option;
      const number = Number(text);
      if (/^\d+$/.test(text) && number >= least && number <= most) return number;
      throw new UsageError(`--${name} is an integer from ${least} to ${most}, got '${text}'`);
    }
  }
}

// Without a zone Date.parse takes local time for a date with a time and UTC for a bare date: too easy to get wrong.
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

function convertTime(name: string, text: string): bigint {
  const milliseconds = ISO_TIME.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  const time = Number.isNaN(milliseconds) ? INT64_MAX : BigInt(milliseconds) * 1_000_000n;
  if (time > INT64_MIN && time < INT64_MAX) return time;
  throw new UsageError(
    `--${name} is a time like 2026-01-31T12:00:00Z, between the years 1678 and 2262, got '${text}'`,
  );
}

/** Date.parse carries the 30th of February over into March. */
function isDay(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).getUTCDate() === Number(date.slice(8));
}

/** The help of one command. */
export function describe(spec: CommandSpec): string {
  const operands = spec.operands.map((operand) =>
    operand.endsWith('?') ? ` [${operand.slice(0, -1)}]` : ` ${operand}`,
  );
  const rows = Object.entries({ ...spec.options, ...GLOBAL_OPTIONS }).map(([name, option]) => {
    const value = option.type === 'flag' ? '' : ` ${option.placeholder ?? option.choices?.join('|') ?? ''}`;
    const initial = option.initial === undefined ? '' : ` (default ${option.initial})`;
    return [`  --${name}${value}`, `${option.help}${initial}`] as const;
  });
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  const table = rows.map(([left, right]) => `${left.padEnd(width)}${right}`).join('\n');
  return `wafstate ${spec.name}${operands.join('')} [options]\n\n${spec.summary}\n\n${table}\n\n${spec.notes}\n`;
}
