import { describe, expect, test } from 'vitest';
import { Collections } from '../../src/collections/index.js';
import { ERROR_CODES, type ErrorCode, WafStateError } from '../../src/contract/errors.js';
import type { Feature } from '../../src/contract/features.js';
import { FaultBackend, OPTIMISTIC, REBASING } from './fault-backend.js';
import { ManualClock } from './manual-clock.js';

const clock = new ManualClock();

function open(backend: FaultBackend): Collections {
  return new Collections({ backend, clock, failurePolicy: 'fail_open' });
}

function closed(backend: FaultBackend): Collections {
  return new Collections({ backend, clock, limits: { retryAttempts: 0 } });
}

function failure(code: ErrorCode): WafStateError {
  return new WafStateError(code, 'as the test says', { details: { outcome: 'not_sent' } });
}

async function seeded(features: readonly Feature[] = REBASING): Promise<FaultBackend> {
  const backend = new FaultBackend(features);
  const tx = closed(backend).begin();
  await tx.bind('ip', 'k');
  tx.set('ip', 'n', 5);
  await tx.processLogging();
  return backend;
}

async function stored(backend: FaultBackend): Promise<string | undefined> {
  const tx = closed(backend).begin();
  await tx.bind('ip', 'k');
  return tx.get('ip', 'n');
}

const PASSING = ['unavailable', 'timeout', 'conflict', 'corrupt', 'capacity'];
const codes = ERROR_CODES.map((code) => ({ code, passes: PASSING.includes(failure(code).kind) }));

describe('fail_closed', () => {
  test.each(ERROR_CODES)(
    'a load that fails with %s rejects, stays unbound, and may be tried again',
    async (code) => {
      const backend = await seeded();
      const tx = closed(backend).begin();
      const error = failure(code);
      backend.faults.push({ at: 'load', error }, { at: 'load', error });
      await expect(tx.bind('ip', 'k')).rejects.toBe(error);
      expect(() => tx.bindSync('ip', 'k')).toThrow(error);
      expect(tx.isBound('ip')).toBe(false);
      expect(tx.lastPersistentFailure('ip')).toBe(error);
      await tx.bind('ip', 'another');
    },
  );

  test.each(ERROR_CODES)('a flush that fails with %s rejects', async (code) => {
    const backend = await seeded();
    const tx = closed(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    backend.faults.push({ at: 'commit', error: failure(code) });
    const expected = code === 'conflict' ? 'retry_limit_exceeded' : code;
    await expect(tx.processLogging()).rejects.toMatchObject({ code: expected });
    expect(tx.lastPersistentFailure()).toMatchObject({ code: expected });
    expect(await stored(backend)).toBe('5');
  });
});

describe('fail_open', () => {
  test.each(codes.filter(({ passes }) => passes))(
    'a load that fails with $code binds an empty, degraded snapshot',
    async ({ code }) => {
      const backend = await seeded();
      for (const way of ['bind', 'bindSync'] as const) {
        const tx = open(backend).begin();
        const error = failure(code);
        backend.faults.push({ at: 'load', error });
        await tx[way]('ip', 'k');
        expect(tx.lastPersistentFailure('ip')).toBe(error);
        expect(tx.lastPersistentFailure('user')).toBeUndefined();
        expect(tx.facts('ip')).toMatchObject({ degraded: true, isNew: false, revision: 0 });
        expect([tx.count('ip'), tx.get('ip', 'IS_NEW'), tx.get('ip', 'KEY')]).toEqual([0, undefined, 'k']);
        tx.add('ip', 'n', 1);
        expect(tx.get('ip', 'n')).toBe('1');
      }
    },
  );

  test.each(codes.filter(({ passes }) => !passes))(
    'a load that fails with $code rejects',
    async ({ code }) => {
      const backend = await seeded();
      const tx = open(backend).begin();
      backend.faults.push({ at: 'load', error: failure(code) });
      await expect(tx.bind('ip', 'k')).rejects.toMatchObject({ code });
      expect(tx.isBound('ip')).toBe(false);
    },
  );

  test.each([
    ['rebasing', REBASING],
    ['optimistic', OPTIMISTIC],
  ])('the log of a degraded binding is flushed blind, %s', async (_, features) => {
    const backend = await seeded(features);
    const tx = open(backend).begin();
    backend.faults.push({ at: 'load', error: failure('unavailable') });
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    const sent = backend.commits.length;
    for (const onConflict of ['reject', 'rebase'] as const) {
      const { ip } = await tx.flush({ onConflict });
      expect(ip?.values.get('n')).toBe(onConflict === 'reject' ? '6' : '7');
      expect(tx.facts('ip')).toMatchObject({ degraded: false, revision: ip?.revision });
      tx.add('ip', 'n', 1);
    }
    const blind = features.includes('server_side_rebase') ? 'any' : 1;
    expect(backend.commits[sent]?.writes[0]?.expect).toBe(blind);
  });

  test('a degraded binding that still cannot be loaded keeps its log', async () => {
    const backend = await seeded(OPTIMISTIC);
    const tx = open(backend).begin();
    for (let fault = 0; fault < 2; fault++)
      backend.faults.push({ at: 'load', error: failure('unavailable') });
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    expect(await tx.processLogging()).toEqual({});
    expect(backend.commits).toHaveLength(1);
    expect((await tx.processLogging()).ip?.values.get('n')).toBe('6');
  });

  test('a degraded binding that is loaded before a flush is whole, whatever becomes of the flush', async () => {
    const backend = await seeded(OPTIMISTIC);
    const tx = open(backend).begin();
    backend.faults.push({ at: 'load', error: failure('unavailable') });
    backend.faults.push({ at: 'commit', error: failure('unavailable') });
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    expect(await tx.processLogging()).toEqual({});
    expect([tx.facts('ip').degraded, tx.get('ip', 'n')]).toEqual([false, '6']);
  });

  test('a load that times out before a flush has sent nothing, whatever it failed with', async () => {
    const backend = await seeded(OPTIMISTIC);
    const tx = open(backend).begin();
    const error = new WafStateError('timeout', 'slow');
    backend.faults.push({ at: 'load', error }, { at: 'load', error });
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    await tx.processLogging();
    await tx.processLogging();
    expect(await stored(backend)).toBe('6');
  });

  test('a corrupt record is never written over, and hinders no other collection', async () => {
    for (const features of [REBASING, OPTIMISTIC]) {
      const backend = await seeded(features);
      const tx = open(backend).begin();
      const error = failure('corrupt_data');
      backend.faults.push({ at: 'load', space: 1, error });
      await tx.bind('ip', 'k');
      await tx.bind('user', 'u');
      tx.set('ip', 'n', 'blind');
      tx.set('user', 'n', '1');
      expect(Object.keys(await tx.processLogging())).toEqual(['user']);
      expect(await tx.processLogging()).toEqual({});
      expect(backend.commits.slice(1).map(({ writes }) => writes.map(({ record }) => record.space))).toEqual([
        [3],
      ]);
      expect(tx.lastPersistentFailure('ip')).toBe(error);
      expect([tx.get('ip', 'n'), await stored(backend)]).toEqual(['blind', '5']);
    }
  });

  test('a corrupt record can be removed, and begun anew', async () => {
    const backend = await seeded();
    const tx = open(backend).begin();
    backend.faults.push({ at: 'load', error: failure('corrupt_data') });
    await tx.bind('ip', 'k');
    tx.removeRecord('ip');
    tx.set('ip', 'n', 'new');
    expect((await tx.processLogging()).ip?.values.get('n')).toBe('new');
    expect(tx.facts('ip')).toMatchObject({ degraded: false, isNew: false });
  });

  test.each(codes.filter(({ passes }) => passes))(
    'a flush that fails with $code lets the request go on',
    async ({ code }) => {
      const backend = await seeded();
      const tx = new Collections({
        backend,
        clock,
        failurePolicy: 'fail_open',
        limits: { retryAttempts: 0 },
      }).begin();
      await tx.bind('ip', 'k');
      tx.add('ip', 'n', 1);
      const error = failure(code);
      backend.faults.push({ at: 'commit', error });
      expect(await tx.processLogging()).toEqual({});
      const last = tx.lastPersistentFailure('ip');
      expect(code === 'conflict' ? last?.cause : last).toBe(error);
      // Nothing was stored, so the next flush stores it.
      await tx.processLogging();
      expect(await stored(backend)).toBe('6');
    },
  );

  test.each(codes.filter(({ passes }) => !passes))(
    'a flush that fails with $code rejects',
    async ({ code }) => {
      const backend = await seeded();
      const tx = open(backend).begin();
      await tx.bind('ip', 'k');
      tx.add('ip', 'n', 1);
      backend.faults.push({ at: 'commit', error: failure(code) });
      await expect(tx.processLogging()).rejects.toMatchObject({ code });
    },
  );

  test('one failure that may not pass rejects for all', async () => {
    const backend = await seeded(OPTIMISTIC);
    const tx = open(backend).begin();
    for (const name of ['ip', 'user'] as const) {
      await tx.bind(name, 'k');
      tx.add(name, 'n', 1);
    }
    backend.faults.push({ at: 'commit', space: 1, error: failure('unavailable') });
    backend.faults.push({ at: 'commit', space: 3, error: failure('invalid_mutation') });
    await expect(tx.processLogging()).rejects.toMatchObject({
      details: { collections: { ip: 'not_applied', user: 'not_applied' } },
    });
  });

  test('misuse is never hidden', async () => {
    const tx = open(await seeded()).begin();
    await expect(tx.bind('ip', '')).rejects.toMatchObject({ code: 'invalid_key' });
    expect(() => tx.add('ip', 'n', 1)).toThrow(expect.objectContaining({ code: 'not_initialized' }));
    tx.close();
    await expect(tx.bind('ip', 'k')).rejects.toMatchObject({ code: 'closed' });
    await expect(tx.processLogging()).rejects.toMatchObject({ code: 'closed' });
  });

  test('an error that is no WafStateError passes as unavailable, with itself as the cause', async () => {
    const backend = await seeded();
    const tx = open(backend).begin();
    const error = new Error('socket hang up');
    backend.faults.push({ at: 'load', error });
    await tx.bind('ip', 'k');
    expect(tx.lastPersistentFailure('ip')).toMatchObject({ code: 'unavailable', cause: error });
  });
});
