import { describe, expect, it } from 'vitest';
import { resolveLmdbOptions } from '../../../src/backend/lmdb/options.js';
import { WafStateError } from '../../../src/contract/errors.js';

function refusal(options: object): WafStateError {
  try {
    resolveLmdbOptions(options as never);
  } catch (error) {
    if (error instanceof WafStateError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('options of openLmdb', () => {
  it('fills in the defaults', () => {
    expect(resolveLmdbOptions({ path: 'state' })).toMatchObject({
      mapSize: 2 ** 30,
      durability: 'durable',
      mode: 0o600,
      directoryMode: 0o700,
      create: true,
      readOnly: false,
      cleanupInterval: 60,
      implementation: 'auto',
    });
  });

  it.each([
    [{}, 'path', /path is missing/],
    [{ path: '' }, 'path', /path must be/],
    [{ path: 'a\0b' }, 'path', /without NUL/],
    [{ path: 'p', mapsize: 2 ** 30 }, 'mapsize', /did you mean 'mapSize'/],
    [{ path: 'p', sync: true }, 'sync', /its options are path, /],
    [{ path: 'p', mapSize: 1 << 32 }, 'mapSize', /1 << 32 is 1 in JavaScript, write 2 \*\* 32/],
    [{ path: 'p', mapSize: 2 ** 20 - 1 }, 'mapSize', /from 1048576 to 17592186044416, got 1048575/],
    [{ path: 'p', mapSize: 2 ** 45 }, 'mapSize', /from 1048576 to 17592186044416/],
    [{ path: 'p', mapSize: 2 ** 20 + 0.5 }, 'mapSize', /an integer of bytes/],
    [{ path: 'p', mapSize: '1g' }, 'mapSize', /got a value of type string/],
    [{ path: 'p', durability: 'fast' }, 'durability', /'durable' or 'relaxed'/],
    [{ path: 'p', implementation: 'c++' }, 'implementation', /'auto' or 'native' or 'typescript'/],
    [{ path: 'p', maxReaders: 0 }, 'maxReaders', /from 1 to 65536, got 0/],
    [{ path: 'p', mode: 0o400 }, 'mode', /permission bits/],
    [{ path: 'p', create: 'no' }, 'create', /true or false/],
    [{ path: 'p', cleanupInterval: -1 }, 'cleanupInterval', /from 0 to 86400, got -1/],
    [{ path: 'p', cleanupInterval: Number.NaN }, 'cleanupInterval', /got NaN/],
    [{ path: 'p', queueBytes: 1 }, 'queueBytes', /from 65536/],
    [{ path: 'p', writerTimeout: 0 }, 'writerTimeout', /seconds from 1 to 3600/],
    [{ path: 'p', clock: 5 }, 'clock', /now\(\)/],
  ])('refuses %j and says what would do', (options, option, message) => {
    const error = refusal(options);
    expect(error.code).toBe('invalid_option');
    expect(error.message).toMatch(message);
    expect(error.details.option).toBe(option);
  });

  it('refuses what is no object', () => {
    expect(refusal('state' as never).message).toMatch(/its options are path, /);
  });
});
