import { beforeEach, describe, expect, test } from 'vitest';
import { Collections, type CollectionsOptions } from '../../src/collections/index.js';
import { WafStateError } from '../../src/contract/errors.js';
import { FaultBackend, OPTIMISTIC, REBASING } from './fault-backend.js';
import { ManualClock } from './manual-clock.js';

let clock: ManualClock;

beforeEach(() => {
  clock = new ManualClock();
});

function over(backend: FaultBackend, options: Partial<CollectionsOptions> = {}): Collections {
  return new Collections({ backend, clock, ...options });
}

async function addOnce(backend: FaultBackend, collection: 'ip' | 'user' = 'ip'): Promise<void> {
  const tx = over(backend, { limits: { retryAttempts: 1000 } }).begin();
  await tx.bind(collection, 'k');
  tx.add(collection, 'n', 1);
  await tx.processLogging();
}

async function read(backend: FaultBackend, collection: 'ip' | 'user' = 'ip'): Promise<string | undefined> {
  const tx = over(backend).begin();
  await tx.bind(collection, 'k');
  return tx.get(collection, 'n');
}

const UNAVAILABLE = new WafStateError('unavailable', 'down');
const LOST = new WafStateError('timeout', 'late', { details: { outcome: 'unknown' } });

describe('a flush', () => {
  test('writes the dirty bindings only, all in one commit where the engine can', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    for (const name of ['ip', 'user', 'global'] as const) await tx.bind(name, 'k');
    tx.add('global', 'n', 1);
    tx.add('ip', 'n', 2);
    const flushed = await tx.processLogging();
    expect(backend.commits.map(({ writes }) => writes.map(({ record }) => record.space))).toEqual([[1, 4]]);
    expect(Object.keys(flushed)).toEqual(['ip', 'global']);
    expect(flushed.ip?.values).toEqual(new Map([['n', '2']]));
    expect(flushed.global?.revision).toBeGreaterThan(0);
    expect(await tx.processLogging()).toEqual({});
    expect(backend.commits).toHaveLength(1);
  });

  test('commits each collection by itself where the engine cannot', async () => {
    const backend = new FaultBackend(OPTIMISTIC);
    const tx = over(backend).begin();
    for (const name of ['ip', 'user'] as const) {
      await tx.bind(name, 'k');
      tx.add(name, 'n', 1);
    }
    await tx.processLogging();
    expect(backend.commits.map(({ writes }) => writes.length)).toEqual([1, 1]);
  });

  test('tells every touched variable as it is left, the invisible ones too', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'N', 1);
    tx.expire('ip', 'waits', 5);
    tx.set('ip', 'gone', '1');
    tx.remove('ip', 'gone');
    const { ip } = await tx.processLogging();
    expect([...(ip?.values ?? [])]).toEqual([
      ['n', '1'],
      ['waits', undefined],
      ['gone', undefined],
    ]);
  });

  test('a deadline that waits for its value is kept for what follows the flush', async () => {
    const tx = over(new FaultBackend()).begin();
    await tx.bind('ip', 'k');
    tx.expire('ip', 'n', 5);
    await tx.processLogging();
    expect(tx.count('ip')).toBe(0);
    tx.add('ip', 'n', 1);
    expect(tx.get('ip', 'n')).toBe('1');
    await tx.processLogging();
    clock.advance(5);
    expect(tx.get('ip', 'n')).toBeUndefined();
  });

  test.each([
    ['rebasing', REBASING],
    ['optimistic', OPTIMISTIC],
  ])('goes on with the new revision and values, %s', async (_, features) => {
    const backend = new FaultBackend(features);
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    for (let round = 1; round <= 3; round++) {
      tx.add('ip', 'n', 1);
      const { ip } = await tx.processLogging();
      expect(tx.facts('ip')).toMatchObject({ revision: ip?.revision, updateCounter: round, isNew: false });
      expect(tx.list('ip')).toEqual([['n', String(round)]]);
      clock.advance(1);
    }
    const other = over(backend).begin();
    await other.bind('ip', 'k');
    expect(other.facts('ip')).toEqual(tx.facts('ip'));
  });

  test('puts its log on top of what others wrote, and then shows both', async () => {
    for (const features of [REBASING, OPTIMISTIC]) {
      const backend = new FaultBackend(features);
      const tx = over(backend).begin();
      await tx.bind('ip', 'k');
      tx.add('ip', 'n', 10);
      await addOnce(backend);
      expect((await tx.flush({ onConflict: 'rebase' })).ip?.values.get('n')).toBe('11');
      expect(tx.get('ip', 'n')).toBe('11');
    }
  });

  test('shows a record that others removed in between as the new one that it is', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'old', '1');
    await tx.processLogging();
    const other = over(backend).begin();
    await other.bind('ip', 'k');
    other.removeRecord('ip');
    await other.processLogging();
    clock.advance(5);
    tx.set('ip', 'new', '1');
    await tx.processLogging();
    expect(tx.list('ip')).toEqual([['new', '1']]);
    expect(tx.facts('ip')).toMatchObject({ createTime: clock.now(), updateCounter: 1 });
  });

  test.each([
    ['rebasing', REBASING],
    ['optimistic', OPTIMISTIC],
  ])("onConflict 'reject' gives the conflict to the caller and keeps the log, %s", async (_, features) => {
    const backend = new FaultBackend(features);
    for (const failurePolicy of ['fail_closed', 'fail_open'] as const) {
      const tx = over(backend, { failurePolicy }).begin();
      await tx.bind('ip', 'k');
      const before = Number(tx.get('ip', 'n') ?? 0);
      tx.add('ip', 'n', 10);
      await addOnce(backend);
      await expect(tx.flush({ onConflict: 'reject' })).rejects.toMatchObject({ code: 'conflict' });
      expect(tx.get('ip', 'n')).toBe(String(before + 10));
      expect(await read(backend)).toBe(String(before + 1));
      await tx.flush();
      expect(await read(backend)).toBe(String(before + 11));
    }
  });

  test("onConflict 'reject' goes through where nobody wrote", async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    for (const value of ['1', '2']) {
      tx.add('ip', 'n', 1);
      expect((await tx.flush({ onConflict: 'reject' })).ip?.values.get('n')).toBe(value);
    }
    expect(backend.commits.map(({ writes }) => writes[0]?.expect)).toEqual(['absent', 1]);
  });

  test('gives up after retryAttempts more attempts, with the log intact', async () => {
    const backend = new FaultBackend(OPTIMISTIC);
    const tx = over(backend, { limits: { retryAttempts: 3 } }).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 10);
    let storm = 4;
    const strike = async () => {
      if (--storm > 0) backend.faults.push({ at: 'commit', before: strike });
      await new Promise((resolve) => setImmediate(resolve));
      const stormer = over(backend).begin();
      await stormer.bind('ip', 'k');
      stormer.add('ip', 'n', 1);
      // Before the fault of the next attempt is due.
      const faults = backend.faults.splice(0);
      await stormer.processLogging();
      backend.faults.push(...faults);
    };
    backend.faults.push({ at: 'commit', before: strike });
    await expect(tx.processLogging()).rejects.toMatchObject({
      code: 'retry_limit_exceeded',
      details: { limit: 3, actual: 4 },
      cause: { code: 'conflict' },
    });
    expect(await read(backend)).toBe('4');
    await tx.processLogging();
    expect(await read(backend)).toBe('14');
  });

  test('an unknown option or word is invalid_option and names the nearest', async () => {
    const tx = over(new FaultBackend()).begin();
    await expect(tx.flush({ onconflict: 'rebase' } as never)).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining("'onConflict'"),
    });
    await expect(tx.flush({ onConflict: 'merge' } as never)).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  test('a second flush waits for the one under way and sends what came since', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    const first = tx.processLogging();
    tx.add('ip', 'n', 1);
    const [one, two, three] = await Promise.all([first, tx.processLogging(), tx.processLogging()]);
    expect(one.ip?.values.get('n')).toBe('1');
    expect(two.ip?.values.get('n')).toBe('2');
    expect(three).toEqual({});
  });

  test('a close does not stop the flush under way', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    const flush = tx.processLogging();
    tx.close();
    expect((await flush).ip?.values.get('n')).toBe('1');
  });
});

describe('a flush that fails', () => {
  test('keeps the log where nothing was stored: the next one sends it, once', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    backend.faults.push({ at: 'commit', error: UNAVAILABLE });
    const flush = tx.processLogging();
    tx.set('ip', 'n', 10);
    await expect(flush).rejects.toBe(UNAVAILABLE);
    expect([tx.get('ip', 'n'), await read(backend)]).toEqual(['10', undefined]);
    await tx.processLogging();
    expect(await read(backend)).toBe('10');
  });

  test.each([
    ['unknown and applied', LOST, true],
    ['unknown and not applied', LOST, false],
    ['a timeout that does not say', new WafStateError('timeout', 'late'), true],
    [
      'a writer that was lost with it',
      new WafStateError('writer_lost', 'lost', { details: { outcome: 'unknown' } }),
      true,
    ],
    ['an error that breaks the contract', new RangeError('bug'), true],
  ])('never sends again what may have been stored: %s', async (_, error, applied) => {
    const backend = new FaultBackend();
    const tx = over(backend, { limits: { mutations: 1 } }).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    backend.faults.push({ at: 'commit', error, applied });
    await expect(tx.processLogging()).rejects.toBeInstanceOf(WafStateError);
    expect(tx.get('ip', 'n')).toBe('1');
    // It is out of the log, and counts against no limit.
    const mark = tx.checkpoint();
    tx.add('ip', 'n', 10);
    tx.rollback(mark);
    expect(await tx.processLogging()).toEqual({});
    expect(backend.commits).toHaveLength(1);
    expect(await read(backend)).toBe(applied ? '1' : undefined);
    tx.add('ip', 'n', 10);
    expect(tx.get('ip', 'n')).toBe('11');
    expect((await tx.processLogging()).ip?.values.get('n')).toBe(applied ? '11' : '10');
  });

  test('shows what may have been stored as it would be: in a record that had timed out, and with its timeout', async () => {
    const backend = new FaultBackend();
    const collections = over(backend, { timeouts: { ip: 10 } });
    const first = collections.begin();
    await first.bind('ip', 'k');
    first.set('ip', 'old', 1);
    await first.processLogging();

    const tx = collections.begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'TIMEOUT', 99);
    backend.faults.push({ at: 'commit', error: LOST, applied: true });
    await expect(tx.processLogging()).rejects.toBe(LOST);
    expect(tx.get('ip', 'TIMEOUT')).toBe('99');

    const late = collections.begin();
    await late.bind('ip', 'k');
    clock.advance(100);
    late.set('ip', 'n', 'mine');
    backend.faults.push({ at: 'commit', error: LOST, applied: true });
    await expect(late.processLogging()).rejects.toBe(LOST);
    expect(late.list('ip')).toEqual([['n', 'mine']]);
  });

  test('into a record that others removed meanwhile begins a new one, with a new timeout', async () => {
    const backend = new FaultBackend();
    const collections = over(backend);
    const first = collections.begin();
    await first.bind('ip', 'k');
    first.set('ip', 'TIMEOUT', 1);
    await first.processLogging();
    const tx = collections.begin();
    await tx.bind('ip', 'k');
    const other = collections.begin();
    await other.bind('ip', 'k');
    other.removeRecord('ip');
    await other.processLogging();
    tx.add('ip', 'n', 1);
    await tx.processLogging();
    expect(tx.get('ip', 'TIMEOUT')).toBeUndefined();
    clock.advance(2);
    expect(tx.list('ip')).toEqual([['n', '1']]);
    expect(await read(backend)).toBe('1');
  });

  test('goes on with what came during a flush whose end is unknown, once', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    backend.faults.push({ at: 'commit', error: LOST, applied: true });
    const flush = tx.processLogging();
    tx.add('ip', 'n', 10);
    expect(tx.get('ip', 'n')).toBe('11');
    await expect(flush).rejects.toBe(LOST);
    expect(tx.get('ip', 'n')).toBe('11');
    await tx.processLogging();
    expect(await read(backend)).toBe('11');
  });

  test('a timeout that was not sent is sent again', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    const error = new WafStateError('timeout', 'late', { details: { outcome: 'not_sent' } });
    backend.faults.push({ at: 'commit', error });
    await expect(tx.processLogging()).rejects.toBe(error);
    await tx.processLogging();
    expect(await read(backend)).toBe('1');
  });

  test('in part tells the fate of each collection, and sends again only what was not stored', async () => {
    const backend = new FaultBackend(OPTIMISTIC);
    const tx = over(backend).begin();
    for (const name of ['ip', 'user', 'global'] as const) {
      await tx.bind(name, 'k');
      tx.add(name, 'n', 1);
    }
    const settled = Promise.resolve('applied' as const);
    const lost = new WafStateError('timeout', 'late', { details: { outcome: 'unknown' }, settled });
    backend.faults.push({ at: 'commit', space: 3, error: lost, applied: true });
    backend.faults.push({ at: 'commit', space: 4, error: UNAVAILABLE });
    await expect(tx.processLogging()).rejects.toMatchObject({
      code: 'timeout',
      details: { collections: { ip: 'applied', user: 'unknown', global: 'not_applied' } },
      cause: lost,
      settled,
    });
    expect(tx.lastPersistentFailure('user')).toBe(lost);
    expect(tx.lastPersistentFailure('global')).toBe(UNAVAILABLE);
    expect(tx.lastPersistentFailure('ip')).toBeUndefined();
    const sent = backend.commits.length;
    expect(Object.keys(await tx.processLogging())).toEqual(['global']);
    expect(backend.commits.slice(sent).map(({ writes }) => writes[0]?.record.space)).toEqual([4]);
  });

  test('together applies none, and tells so', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    for (const name of ['ip', 'user'] as const) {
      await tx.bind(name, 'k');
      tx.add(name, 'n', 1);
    }
    backend.faults.push({ at: 'commit', error: UNAVAILABLE });
    await expect(tx.processLogging()).rejects.toMatchObject({
      code: 'unavailable',
      details: { collections: { ip: 'not_applied', user: 'not_applied' } },
    });
    await tx.processLogging();
    expect([await read(backend), await read(backend, 'user')]).toEqual(['1', '1']);
  });

  test('ends marks that were made while it was under way', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    backend.faults.push({ at: 'commit', error: UNAVAILABLE });
    const flush = tx.processLogging();
    const mark = tx.checkpoint();
    await expect(flush).rejects.toBe(UNAVAILABLE);
    expect(() => tx.rollback(mark)).toThrow(expect.objectContaining({ code: 'unsupported' }));
    expect(tx.get('ip', 'n')).toBe('1');
  });

  test('counts what may come back against the limit of the log', async () => {
    const backend = new FaultBackend();
    const tx = over(backend, { limits: { mutations: 2 } }).begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    tx.add('ip', 'n', 1);
    backend.faults.push({ at: 'commit', error: UNAVAILABLE });
    const flush = tx.processLogging();
    expect(() => tx.add('ip', 'n', 1)).toThrow(expect.objectContaining({ code: 'capacity_exceeded' }));
    await expect(flush).rejects.toBe(UNAVAILABLE);
    await tx.processLogging();
    expect(await read(backend)).toBe('2');
  });
});

describe('a deadline', () => {
  test('goes to the engine that keeps deadlines, and to no other', async () => {
    for (const keeps of [true, false]) {
      const backend = new FaultBackend(keeps ? [...REBASING, 'hard_deadlines'] : REBASING);
      const deadline = clock.now() + 1_000_000n;
      const tx = over(backend).begin({ deadline });
      await tx.bind('ip', 'k');
      tx.add('ip', 'n', 1);
      await tx.processLogging();
      expect(backend.commits[0]?.options.deadline).toBe(keeps ? deadline : undefined);
    }
  });

  test('once passed, loads and flushes are not begun: timeout, not_sent', async () => {
    const backend = new FaultBackend();
    const tx = over(backend).begin({ deadline: clock.now() + 1_000_000_000n });
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    clock.advance(1);
    const late = { code: 'timeout', details: { outcome: 'not_sent' } };
    await expect(tx.bind('user', 'k')).rejects.toMatchObject(late);
    expect(() => tx.bindSync('user', 'k')).toThrow(expect.objectContaining(late));
    await expect(tx.processLogging()).rejects.toMatchObject(late);
    expect([backend.loads, backend.commits.length]).toEqual([1, 0]);
  });

  test('ends the attempts after a conflict', async () => {
    const backend = new FaultBackend(OPTIMISTIC);
    const tx = over(backend).begin({ deadline: clock.now() + 1n });
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    backend.faults.push({ at: 'commit', error: new WafStateError('conflict', 'stale') });
    await expect(tx.processLogging()).rejects.toMatchObject({ code: 'timeout', cause: { code: 'conflict' } });
    expect(backend.commits).toHaveLength(1);
  });

  test('that is no time is invalid_option', () => {
    const collections = over(new FaultBackend());
    for (const options of [{ deadline: 5 }, { deadline: 2n ** 63n }, { deadlin: 1n }]) {
      expect(() => collections.begin(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });
});

test.each([
  ['rebasing', REBASING],
  ['optimistic', OPTIMISTIC],
])('2000 increments side by side are exactly 2000, %s', async (_, features) => {
  const backend = new FaultBackend(features);
  let left = 2000;
  const worker = async () => {
    while (left-- > 0) await addOnce(backend);
  };
  await Promise.all(Array.from({ length: features === REBASING ? 2000 : 8 }, worker));
  expect(await read(backend)).toBe('2000');
});
