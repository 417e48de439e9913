import { beforeEach, describe, expect, test } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import { Collections, type IncrementOptions } from '../../src/collections/index.js';
import { WafStateError } from '../../src/contract/errors.js';
import { FaultBackend, OPTIMISTIC } from './fault-backend.js';
import { ManualClock } from './manual-clock.js';

let clock: ManualClock;
let collections: Collections;

beforeEach(() => {
  clock = new ManualClock();
  collections = new Collections({ backend: openMemory(), clock });
});

describe('increment', () => {
  test('counts in one commit, and blocks what is over the limit', async () => {
    const backend = new FaultBackend();
    collections = new Collections({ backend, clock });
    const end = clock.now() + 60_000_000_000n;
    for (const [value, blocked] of [
      [1n, false],
      [2n, false],
      [3n, true],
    ] as const) {
      expect(await collections.increment('ip', 'k', 'Hits', { window: 60, limit: 2 })).toEqual({
        value,
        resetAt: end,
        blocked,
        failure: undefined,
      });
    }
    expect([backend.loads, backend.commits.length]).toEqual([0, 3]);
  });

  test('a window begins with its first increment, stands, and then begins anew', async () => {
    const first = await collections.increment('ip', 'k', 'n', { window: 1.5 });
    clock.advance(1);
    const second = await collections.increment('ip', 'k', 'n', { window: 1.5 });
    expect([second.value, second.resetAt]).toEqual([2n, first.resetAt]);
    clock.advance(0.5);
    const third = await collections.increment('ip', 'k', 'n', { window: 1.5 });
    expect([third.value, third.resetAt]).toEqual([1n, clock.now() + 1_500_000_000n]);
  });

  test('without window or limit counts for ever and blocks nothing; by may be any integer', async () => {
    await collections.increment('ip', 'k', 'n', { by: 2n ** 62n });
    expect(await collections.increment('ip', 'k', 'n', { by: -1 })).toEqual({
      value: 2n ** 62n - 1n,
      resetAt: undefined,
      blocked: false,
      failure: undefined,
    });
    await expect(collections.increment('ip', 'k', 'n', { by: 2n ** 62n + 2n })).rejects.toMatchObject({
      code: 'capacity_exceeded',
    });
  });

  test('is read by a transaction as any variable', async () => {
    await collections.increment('IP', Buffer.from('k'), 'Hits');
    const tx = collections.begin();
    await tx.bind('ip', 'k');
    expect(tx.list('ip')).toEqual([['hits', '1']]);
  });

  test('2000 side by side get every number from 1 to 2000 once', async () => {
    const results = await Promise.all(
      Array.from({ length: 2000 }, () => collections.increment('ip', 'k', 'n', { window: 60, limit: 1000 })),
    );
    expect(new Set(results.map(({ value }) => value)).size).toBe(2000);
    expect(results.filter(({ blocked }) => blocked)).toHaveLength(1000);
    expect((await collections.increment('ip', 'k', 'n')).value).toBe(2001n);
  });

  test('is exact on an engine that only compares revisions', async () => {
    const backend = new FaultBackend(OPTIMISTIC);
    collections = new Collections({ backend, clock, limits: { retryAttempts: 1000 } });
    const results = await Promise.all(
      Array.from({ length: 20 }, () => collections.increment('ip', 'k', 'n')),
    );
    expect(results.map(({ value }) => Number(value)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  test.each([
    ['an empty key', ['', 'n', {}], 'invalid_key'],
    ['an empty name', ['k', '', {}], 'invalid_mutation'],
    ['a fact', ['k', 'UPDATE_COUNTER', {}], 'invalid_mutation'],
    ['a fraction', ['k', 'n', { by: 0.5 }], 'invalid_mutation'],
    ['a limit that is none', ['k', 'n', { limit: Number.NaN }], 'invalid_mutation'],
    ['a window of nothing', ['k', 'n', { window: 0 }], 'invalid_mutation'],
    ['a negative window', ['k', 'n', { window: -1 }], 'invalid_mutation'],
    ['an unknown option', ['k', 'n', { windows: 1 }], 'invalid_option'],
  ] as const)('refuses %s', async (_, [key, name, options], code) => {
    await expect(collections.increment('ip', key, name, options as IncrementOptions)).rejects.toMatchObject({
      code,
    });
  });

  test('fail_open counts this one alone and keeps the failure; fail_closed rejects', async () => {
    const error = new WafStateError('unavailable', 'down');
    for (const failurePolicy of ['fail_open', 'fail_closed'] as const) {
      const backend = new FaultBackend();
      backend.faults.push({ at: 'commit', error });
      const increment = new Collections({ backend, clock, failurePolicy }).increment('ip', 'k', 'n', {
        limit: 5,
      });
      if (failurePolicy === 'fail_closed') await expect(increment).rejects.toBe(error);
      else expect(await increment).toEqual({ value: 1n, resetAt: undefined, blocked: false, failure: error });
    }
  });
});

describe('new Collections', () => {
  const backend = openMemory();
  test.each([
    ['no options', undefined, 'invalid_option'],
    ['no backend', {}, 'invalid_option'],
    ['a promise of a backend', { backend: Promise.resolve(backend) }, 'invalid_option'],
    ['an unknown policy', { backend, failurePolicy: 'open' }, 'invalid_option'],
    ['an unknown feature', { backend, requiredFeatures: ['durable'] }, 'invalid_option'],
    ['a clock that is none', { backend, clock: Date }, 'invalid_option'],
    ['a long application id', { backend, applicationId: 'a'.repeat(256) }, 'invalid_option'],
    ['an application id with a lone surrogate', { backend, applicationId: '\ud800' }, 'invalid_option'],
    ['a timeout of nothing', { backend, timeouts: { ip: 0 } }, 'invalid_option'],
    ['a timeout beyond ten years', { backend, timeouts: { ip: 315_360_001 } }, 'invalid_option'],
    ['a timeout of an unknown collection', { backend, timeouts: { tx: 1 } }, 'invalid_option'],
    ['an unknown limit', { backend, limits: { keys: 1 } }, 'invalid_limit'],
    ['a limit out of range', { backend, limits: { keyBytes: 1025 } }, 'invalid_limit'],
    ['a feature the backend lacks', { backend, requiredFeatures: ['durable_storage'] }, 'missing_feature'],
  ])('refuses %s', (_, options, code) => {
    expect(() => new Collections(options as never)).toThrow(expect.objectContaining({ code }));
  });

  test('names the nearest option', () => {
    expect(() => new Collections({ backend, failPolicy: 'fail_open' } as never)).toThrow(/'failurePolicy'/);
  });

  test('refuses a backend of another version of the contract', () => {
    const old = Object.assign(Object.create(new FaultBackend()), { abiVersion: 0 });
    expect(() => new Collections({ backend: old })).toThrow(
      expect.objectContaining({ code: 'abi_mismatch' }),
    );
  });
});
