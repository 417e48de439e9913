import type { Clock } from '../../contract/clock.js';
import {
  choiceOption,
  clockOption,
  type NumberRange,
  numberOption,
  refuseUnknownOptions,
} from '../../contract/options.js';

export interface MemoryOptions {
  /** Records that are held at most, 1 to 16,777,216; default 200,000. */
  readonly maxRecords?: number | undefined;
  /**
   * Bytes that are held at most, as the engine estimates them (see `MemoryStats`), 64 KiB to 64 GiB; default 256 MiB. The
   * heap of Node.js must be able to hold them: see `--max-old-space-size`.
   */
  readonly maxBytes?: number | undefined;
  /**
   * What happens at a bound. `evict` (default): records make room, those that are over first, then those that were used once,
   * then the least recently used, and last those with a live deadline of more than five minutes. `refuse`: a commit that
   * needs more room is `capacity_exceeded`.
   */
  readonly onFull?: 'evict' | 'refuse' | undefined;
  /** Seconds between two sweeps of what has expired, up to 86400; default 60, 0 = none. */
  readonly cleanupInterval?: number | undefined;
  /** The clock of the sweeps; default the system's. */
  readonly clock?: Clock | undefined;
}

export type ResolvedMemoryOptions = { readonly [K in keyof MemoryOptions]-?: NonNullable<MemoryOptions[K]> };

const OWNER = 'openMemory';
const NAMES = ['maxRecords', 'maxBytes', 'onFull', 'cleanupInterval', 'clock'];
const RECORDS: NumberRange = { initial: 200_000, least: 1, most: 2 ** 24, unit: 'records' };
const BYTES: NumberRange = { initial: 2 ** 28, least: 2 ** 16, most: 2 ** 36, unit: 'bytes' };
const SECONDS: NumberRange = { initial: 60, least: 0, most: 86_400, unit: 'seconds', fractions: true };

/** Throws `invalid_option`. */
export function resolveMemoryOptions(given: MemoryOptions): ResolvedMemoryOptions {
  refuseUnknownOptions(OWNER, given, NAMES);
  return {
    maxRecords: numberOption(OWNER, 'maxRecords', given.maxRecords, RECORDS),
    maxBytes: numberOption(OWNER, 'maxBytes', given.maxBytes, BYTES),
    onFull: choiceOption(OWNER, 'onFull', given.onFull, ['evict', 'refuse']),
    cleanupInterval: numberOption(OWNER, 'cleanupInterval', given.cleanupInterval, SECONDS),
    clock: clockOption(OWNER, given.clock),
  };
}
