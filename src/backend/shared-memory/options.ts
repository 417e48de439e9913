import type { Clock } from '../../contract/clock.js';
import { WafStateError } from '../../contract/errors.js';
import {
  choiceOption,
  clockOption,
  type NumberRange,
  numberOption,
  refuseUnknownOptions,
} from '../../contract/options.js';

export interface SharedMemoryOptions {
  /** Which table of this process: 1 to 255 characters. Every thread that opens the name sees the same records. */
  readonly name: string;
  /**
   * Bytes that the table takes at most, all included, 1 MiB to 1 TiB; default 256 MiB. A record of one counter with a deadline
   * takes about 115 bytes.
   */
  readonly maxBytes?: number | undefined;
  /** Records that it holds at most, 1 to 2^40; default 2^40, so that `maxBytes` is the bound. */
  readonly maxRecords?: number | undefined;
  /**
   * What happens at a bound. `evict` (default): records make room, those that have ended first, then those that one commit has
   * seen, then the least recently used, and last those with a deadline more than five minutes ahead. `refuse`: what has ended
   * makes room, else the commit is `capacity_exceeded`.
   */
  readonly onFull?: 'evict' | 'refuse' | undefined;
  /** Seconds between two sweeps of what has expired, up to 86400; default 60, 0 = none. One thread at a time sweeps. */
  readonly cleanupInterval?: number | undefined;
  /** The clock of the sweeps; default the system's. */
  readonly clock?: Clock | undefined;
}

/** All of `SharedMemoryOptions`, checked, with the defaults in place. */
export type ResolvedSharedMemoryOptions = {
  readonly [K in keyof SharedMemoryOptions]-?: NonNullable<SharedMemoryOptions[K]>;
};

const OWNER = 'openSharedMemory';
const NAMES = ['name', 'maxBytes', 'maxRecords', 'onFull', 'cleanupInterval', 'clock'];
const MAX_NAME = 255;
const BYTES: NumberRange = { initial: 2 ** 28, least: 2 ** 20, most: 2 ** 40, unit: 'bytes' };
const RECORDS: NumberRange = { initial: 2 ** 40, least: 1, most: 2 ** 40, unit: 'records' };
const SECONDS: NumberRange = { initial: 60, least: 0, most: 86_400, unit: 'seconds', fractions: true };

/** Throws `invalid_option`. */
export function resolveSharedMemoryOptions(given: SharedMemoryOptions): ResolvedSharedMemoryOptions {
  refuseUnknownOptions(OWNER, given, NAMES);
  const { name } = given;
  if (typeof name !== 'string' || name.length < 1 || name.length > MAX_NAME) {
    const got = typeof name === 'string' ? `${name.length}` : `a value of type ${typeof name}`;
    throw invalid('name', `${OWNER}: name must be a string of 1 to ${MAX_NAME} characters, got ${got}`);
  }
  return {
    name,
    maxBytes: numberOption(OWNER, 'maxBytes', given.maxBytes, BYTES),
    maxRecords: numberOption(OWNER, 'maxRecords', given.maxRecords, RECORDS),
    onFull: choiceOption(OWNER, 'onFull', given.onFull, ['evict', 'refuse']),
    cleanupInterval: numberOption(OWNER, 'cleanupInterval', given.cleanupInterval, SECONDS),
    clock: clockOption(OWNER, given.clock),
  };
}

/** Throws `invalid_option` where the table was made with other bounds than those asked for. */
export function requireSameBounds(
  asked: ResolvedSharedMemoryOptions,
  made: { readonly maxBytes: number; readonly maxRecords: number; readonly evicts: boolean },
): void {
  const present = { ...made, onFull: made.evicts ? 'evict' : 'refuse' };
  for (const option of ['maxBytes', 'maxRecords', 'onFull'] as const) {
    if (asked[option] === present[option]) continue;
    throw new WafStateError(
      'invalid_option',
      `${OWNER}: this process has made the table with ${option} ${present[option]}, this call asks for ${asked[option]}; open it with the same options everywhere, or under another name`,
      {
        details: {
          option,
          ...(option !== 'onFull' && { limit: present[option] as number, actual: asked[option] as number }),
        },
      },
    );
  }
}

function invalid(option: string, message: string): WafStateError {
  return new WafStateError('invalid_option', message, { details: { option } });
}
