import { WafStateError } from './errors.js';
import { shown } from './options.js';

/**
 * Every bound a caller may set. Beyond one there is a typed error and nothing is dropped; each is checked before
 * the work it bounds is done.
 */
export interface Limits {
  /** Bytes of a record's key. Default 1024. Beyond: `invalid_key`. */
  readonly keyBytes: number;
  /** Bytes of a variable's name. Default 1024. Beyond: `invalid_mutation`. */
  readonly nameBytes: number;
  /** Bytes of a variable's value. Default 32 KiB. Beyond: `invalid_mutation`. */
  readonly valueBytes: number;
  /** Variables of a record, hidden ones included. Default 4096. Beyond: `capacity_exceeded`. */
  readonly variables: number;
  /** Bytes of a record's names and values, as a reader sees them. Default 2 MiB. Beyond: `capacity_exceeded`. */
  readonly recordBytes: number;
  /** Mutations of one commit, all its records together. Default 4096. Beyond: `capacity_exceeded`. */
  readonly mutations: number;
  /** How often a flush reloads and tries again after a conflict. Default 8. Beyond: `retry_limit_exceeded`. */
  readonly retryAttempts: number;
  /** Records that one cleanup looks at. Default 128. */
  readonly cleanupRecords: number;
  /** Variables that one cleanup looks at. Default 4096; a record is never split, so one record may exceed it. */
  readonly cleanupVariables: number;
}

export type LimitName = keyof Limits;

/** Default, least and most of each limit. The most is what the record format and LMDB's keys can hold. */
const RANGES: Readonly<Record<LimitName, readonly [initial: number, least: number, most: number]>> = {
  keyBytes: [1024, 1, 1024],
  nameBytes: [1024, 1, 65_535],
  valueBytes: [32 * 1024, 1, 16 * 2 ** 20],
  variables: [4096, 1, 65_535],
  recordBytes: [2 * 2 ** 20, 1, 64 * 2 ** 20],
  mutations: [4096, 1, 65_535],
  retryAttempts: [8, 0, 1000],
  cleanupRecords: [128, 1, 1_000_000],
  cleanupVariables: [4096, 1, 1_000_000_000],
};

export const LIMIT_NAMES = Object.keys(RANGES) as readonly LimitName[];

export const DEFAULT_LIMITS: Limits = Object.freeze(
  Object.fromEntries(LIMIT_NAMES.map((name) => [name, RANGES[name][0]])) as Record<LimitName, number>,
);

/** The defaults with `overrides` in them. Throws `invalid_limit` for an unknown name or a value out of range. */
export function resolveLimits(overrides: Partial<Limits> = {}): Limits {
  if (typeof overrides !== 'object' || overrides === null) {
    throw new WafStateError(
      'invalid_limit',
      `limits must be an object, its members are ${LIMIT_NAMES.join(', ')}`,
    );
  }
  const limits: Record<LimitName, number> = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(overrides)) {
    if (!Object.hasOwn(RANGES, name)) {
      throw new WafStateError(
        'invalid_limit',
        `unknown limit '${name}'; the limits are ${LIMIT_NAMES.join(', ')}`,
        {
          details: { option: name },
        },
      );
    }
    if (value === undefined) continue;
    const [, least, most] = RANGES[name as LimitName];
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
      throw new WafStateError(
        'invalid_limit',
        `limit ${name} must be an integer from ${least} to ${most}, got ${shown(value)}`,
        {
          details: {
            option: name,
            limit: typeof value === 'number' && value < least ? least : most,
            ...(typeof value === 'number' && { actual: value }),
          },
        },
      );
    }
    limits[name as LimitName] = value;
  }
  return Object.freeze(limits);
}
