import { WafStateError } from '../../contract/errors.js';
import { nearestName } from '../../contract/options.js';
import { formatDuration, parseDuration } from './duration.js';

/** Where in a configuration something is wrong. */
export interface Place {
  /** For people: `entry 'app:cache'`. */
  readonly owner: string;
  readonly lineOf: (field: string) => number | undefined;
}

/** How one field of an entry is read. */
export interface Field<T> {
  /** The value, or the initial one where it is undefined. Throws what is wrong with it. */
  read(value: unknown, refuse: (problem: string) => WafStateError): T;
  /** As a configuration would spell it. */
  show(value: T): unknown;
}

export type Fields<C> = { readonly [K in keyof C]-?: Field<C[K]> };

/**
 * All fields of a mapping, with the defaults in place. `others` may stand in it beside them. Throws `invalid_option`, which names the
 * entry, the field and the way out.
 */
export function readFields<C>(
  given: unknown,
  fields: Fields<C>,
  place: Place,
  others: readonly string[] = [],
): C {
  if (!isMapping(given)) throw refuse(place, undefined, `must be a mapping of fields, got ${shown(given)}`);
  const names = Object.keys(fields);
  const known = [...others, ...names];
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue;
    const meant = nearestName(name, known);
    throw refuse(
      place,
      name,
      `there is no such field; ${meant === undefined ? `the fields are ${known.join(', ')}` : `did you mean '${meant}'?`}`,
    );
  }
  const read: Record<string, unknown> = {};
  for (const name of names) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    read[name] = fields[name as keyof C].read(value, (problem) => refuse(place, name, problem));
  }
  return read as C;
}

/** The fields as a configuration would spell them; what is undefined is left out. */
export function showFields<C extends object>(config: C, fields: Fields<C>): Record<string, unknown> {
  const shownFields: Record<string, unknown> = {};
  for (const name of Object.keys(fields) as (keyof C & string)[]) {
    if (config[name] !== undefined) shownFields[name] = fields[name].show(config[name]);
  }
  return shownFields;
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function refuse(place: Place, field: string | undefined, problem: string): WafStateError {
  const line = field === undefined ? undefined : place.lineOf(field);
  const where = line === undefined ? place.owner : `${place.owner}, line ${line}`;
  return new WafStateError(
    'invalid_option',
    field === undefined ? `${where} ${problem}` : `${where}: ${field}: ${problem}`,
    { details: { option: field ?? 'source' } },
  );
}

/** Strings by their kind only: a field may hold a secret. */
export function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value === null || value === undefined) return 'nothing';
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'a mapping' : 'text';
}

interface Range {
  readonly least: number;
  readonly most: number;
}

/** 0 stands for `initial`. */
export function countField<I extends number | undefined>(
  initial: I,
  { least, most }: Range,
): Field<number | I> {
  return {
    read: (value, refuse) => {
      if (value === undefined || value === 0) return initial;
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most)
        return value;
      throw refuse(
        `must be an integer from ${least} to ${most}, or 0 for ${initial ?? 'no bound'}, got ${shown(value)}`,
      );
    },
    show: (value) => value,
  };
}

/** Milliseconds; 0 stands for `initial`. */
export function durationField(initial: number, { least, most }: Range): Field<number> {
  const span = `from ${formatDuration(least)} to ${formatDuration(most)}, or 0s for ${formatDuration(initial)}`;
  return {
    read: (value, refuse) => {
      if (value === undefined) return initial;
      if (typeof value === 'number') {
        throw refuse(`must be text with a unit, such as "${Math.abs(value)}s", got ${value}`);
      }
      const milliseconds = typeof value === 'string' ? parseDuration(value) : undefined;
      if (milliseconds === undefined) {
        throw refuse(`must be a duration such as 250ms, 5m or 1h30m, got ${shown(value)} that is none`);
      }
      if (milliseconds === 0) return initial;
      if (milliseconds >= least && milliseconds <= most) return milliseconds;
      throw refuse(`must be ${span}, got ${formatDuration(milliseconds)}`);
    },
    show: formatDuration,
  };
}

export function booleanField(initial: boolean): Field<boolean> {
  return {
    read: (value, refuse) => {
      if (value === undefined) return initial;
      if (typeof value === 'boolean') return value;
      throw refuse(`must be true or false, got ${shown(value)}`);
    },
    show: (value) => value,
  };
}

export function choiceField<T extends string>(choices: readonly [T, ...T[]]): Field<T> {
  return {
    read: (value, refuse) => {
      if (value === undefined) return choices[0];
      const choice = choices.find((each) => each === value);
      if (choice !== undefined) return choice;
      throw refuse(`must be ${choices.join(' or ')}`);
    },
    show: (value) => value,
  };
}

/** Text that must be there and match; `rule` says how it must be, for the message. */
export function textField(pattern: RegExp, rule: string): Field<string> {
  return {
    read: (value, refuse) => {
      if (value === undefined) throw refuse(`is required: ${rule}`);
      if (typeof value === 'string' && pattern.test(value)) return value;
      throw refuse(`must be ${rule}${typeof value === 'string' ? '' : `, got ${shown(value)}`}`);
    },
    show: (value) => value,
  };
}

/** The part of an engine that a store's entries live in. */
export const NAMESPACE_FIELD: Field<string> = {
  read: (value, refuse) => {
    if (typeof value === 'string' && value.startsWith('_')) {
      throw refuse('namespaces that begin with _ are reserved; begin with a letter');
    }
    return NAMESPACE_TEXT.read(value, refuse);
  },
  show: (value) => value,
};

// No flag m: `$` is the end of the text, so that a line break at the end is refused.
const NAMESPACE_TEXT = textField(
  /^[a-z][a-z0-9._-]{0,254}$/,
  'a letter from a to z, then letters a to z, digits, dots, underscores or hyphens, 255 at most',
);

/** The id of an entry: `main` in the same document namespace, or `db:main`. */
export const REFERENCE_FIELD: Field<string> = textField(
  /^(?:[A-Za-z0-9][A-Za-z0-9._-]*:)?[A-Za-z0-9][A-Za-z0-9._-]*$/,
  'the id of the entry of an engine, such as main or db:main',
);
