import { type Clock, systemClock } from './clock.js';
import { WafStateError } from './errors.js';

/**
 * The checks that every function with options makes: what is not known, of the wrong kind or out of range is
 * `invalid_option`, and the message names the option, the range and the figure. Nothing is corrected silently.
 */

/** Refuses what is no object of options, and an option that does not exist; names the one that was likely meant. */
export function refuseUnknownOptions(owner: string, given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) {
    throw new WafStateError(
      'invalid_option',
      `${owner} takes an object of options, got ${shown(given)}; its options are ${known.join(', ')}`,
      { details: { option: 'options' } },
    );
  }
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = nearestName(name, known);
    throw new WafStateError(
      'invalid_option',
      `${owner} has no option '${name}'; ${meant === undefined ? `its options are ${known.join(', ')}` : `did you mean '${meant}'?`}`,
      { details: { option: name } },
    );
  }
}

/** A number option with its unit and range, for `numberOption`. */
export interface NumberRange {
  readonly initial: number;
  readonly least: number;
  readonly most: number;
  /** For the message: `bytes`, `seconds`. */
  readonly unit: string;
  /** Fractions are allowed; else only integers are. */
  readonly fractions?: boolean;
  /** The message writes the range as a file's mode is written. */
  readonly octal?: boolean;
}

/** The value, or the range's initial one where it is undefined. Throws `invalid_option`. */
export function numberOption(owner: string, name: string, value: unknown, range: NumberRange): number {
  if (value === undefined) return range.initial;
  const { least, most, unit } = range;
  if (
    typeof value === 'number' &&
    value >= least &&
    value <= most &&
    (range.fractions === true || Number.isSafeInteger(value))
  ) {
    return value;
  }
  const kind = range.fractions === true ? 'a number' : 'an integer';
  const written = (bound: number) => (range.octal === true ? `0o${bound.toString(8)}` : String(bound));
  throw new WafStateError(
    'invalid_option',
    `${owner}: ${name} must be ${kind} of ${unit} from ${written(least)} to ${written(most)}, got ${typeof value === 'number' && Number.isInteger(value) ? written(value) : shown(value)}`,
    {
      details: {
        option: name,
        ...(typeof value === 'number' && { limit: value < least ? least : most, actual: value }),
      },
    },
  );
}

/** The value if it is one of `choices`, the first of them where it is undefined. Throws `invalid_option`. */
export function choiceOption<T extends string>(
  owner: string,
  name: string,
  value: unknown,
  choices: readonly [T, ...T[]],
): T {
  if (value === undefined) return choices[0];
  const choice = choices.find((each) => each === value);
  if (choice !== undefined) return choice;
  throw new WafStateError(
    'invalid_option',
    `${owner}: ${name} must be ${choices.map((each) => `'${each}'`).join(' or ')}, got ${typeof value === 'string' ? likely(value, choices) : shown(value)}`,
    {
      details: { option: name },
    },
  );
}

/** The value if it is a boolean, `initial` where it is undefined. Throws `invalid_option`. */
export function booleanOption(owner: string, name: string, value: unknown, initial: boolean): boolean {
  if (value === undefined) return initial;
  if (typeof value === 'boolean') return value;
  throw new WafStateError('invalid_option', `${owner}: ${name} must be true or false, got ${shown(value)}`, {
    details: { option: name },
  });
}

/** The clock, the system's where it is undefined. Throws `invalid_option` for one that gives no bigint, as Date does. */
export function clockOption(owner: string, clock: Clock | undefined): Clock {
  if (clock === undefined) return systemClock;
  if (typeof clock?.now === 'function' && typeof clock.now() === 'bigint') return clock;
  throw new WafStateError(
    'invalid_option',
    `${owner}: clock must have a method now() that returns nanoseconds as a bigint`,
    { details: { option: 'clock' } },
  );
}

/** Strings by their kind only: an option may hold a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return `the bigint ${value}n`;
  return value === null || value === undefined ? String(value) : `a value of type ${typeof value}`;
}

function likely(given: string, choices: readonly string[]): string {
  const meant = nearestName(given, choices);
  return meant === undefined ? 'another string' : `another string; did you mean '${meant}'?`;
}

/** The known name within two edits, or a third of the length, of what was given; undefined where none is that near. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const distances = known.map((name) => ({
    name,
    distance: editDistance(given.toLowerCase(), name.toLowerCase()),
  }));
  distances.sort((a, b) => a.distance - b.distance);
  const best = distances[0];
  return best !== undefined && best.distance <= Math.max(2, given.length / 3) ? best.name : undefined;
}

/** Levenshtein's: insertions, deletions and replacements. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
