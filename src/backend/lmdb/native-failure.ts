import { WafStateError } from '../../contract/errors.js';
import { corruptRecord } from '../../record/refusal.js';
import { foreignEnvironment, lockHeld, otherFormat, readersFull } from './environment.js';
import { NATIVE_FAILURE, type NativeFailure } from './native-addon.js';

const OPTIONS = ['mapSize', 'durability', 'maxReaders', 'readOnly'] as const;

/** The error for what the addon refused. */
export function nativeError(failure: NativeFailure): WafStateError {
  const { step, code, limit, actual } = failure;
  switch (failure.failure) {
    case NATIVE_FAILURE.closed:
      return new WafStateError('closed', 'the LMDB environment is closed; open another');
    case NATIVE_FAILURE.option_mismatch: {
      const option = OPTIONS[code - 1] ?? 'path';
      return new WafStateError(
        'invalid_option',
        `openLmdb: this process has the environment open with another ${option} (${actual}); open it in the same way, or close it first`,
        { details: { option, actual } },
      );
    }
    case NATIVE_FAILURE.durability_mismatch:
      return new WafStateError(
        'invalid_option',
        'openLmdb: the environment was made with the other durability; open it with that, or choose another path',
        { details: { option: 'durability' } },
      );
    case NATIVE_FAILURE.foreign:
      return foreignEnvironment();
    case NATIVE_FAILURE.format_version:
      return otherFormat(limit, actual);
    case NATIVE_FAILURE.absent:
      return new WafStateError(
        'not_found',
        'openLmdb: path holds no environment; open it once for writing with create: true',
        {
          details: { option: 'path' },
        },
      );
    case NATIVE_FAILURE.readers_full:
      return readersFull(limit);
    case NATIVE_FAILURE.forked:
      return new WafStateError(
        'unavailable',
        'the process was forked after it opened the LMDB environment; open it in the child anew',
      );
    case NATIVE_FAILURE.disk:
      return new WafStateError(
        'capacity_exceeded',
        `the disk is full or broken (errno ${code}, ${step}); free space and retry`,
        {
          details: { actual: code },
        },
      );
    case NATIVE_FAILURE.corrupt:
      return corruptRecord(code);
    case NATIVE_FAILURE.map_full:
      return new WafStateError(
        'capacity_exceeded',
        `the map of ${limit} bytes is full to the last page; open with a larger mapSize`,
        {
          details: { option: 'mapSize', limit },
        },
      );
    case NATIVE_FAILURE.read_only:
      return new WafStateError(
        'unsupported',
        'the LMDB environment was opened with readOnly: true; open it for writing',
      );
    case NATIVE_FAILURE.timed_out:
      return lockHeld(limit / 1000);
    default:
      return new WafStateError(
        'unavailable',
        `LMDB failed at ${step} with code ${code}; verify the environment if it stays`,
        {
          details: { actual: code },
        },
      );
  }
}
