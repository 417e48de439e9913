import { beforeEach, describe, expect, test } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import { Collections } from '../../src/collections/index.js';
import type { Backend } from '../../src/contract/backend.js';
import type { Limits } from '../../src/contract/limits.js';
import { FaultBackend } from './fault-backend.js';
import { ManualClock } from './manual-clock.js';

let backend: Backend;
let clock: ManualClock;

function collections(limits: Partial<Limits> = {}): Collections {
  return new Collections({ backend, clock, limits });
}

beforeEach(() => {
  backend = openMemory();
  clock = new ManualClock();
});

describe('binding', () => {
  test('begin calls no backend, and a transaction that does nothing commits nothing', async () => {
    const counting = new FaultBackend();
    backend = counting;
    const tx = collections().begin();
    tx.set('tx', 'a', '1');
    expect(await tx.processLogging()).toEqual({});
    tx.close();
    expect(counting.loads).toBe(0);
    expect(counting.commits).toEqual([]);
  });

  test('the same key again is a no-op, another key is already_bound', async () => {
    const counting = new FaultBackend();
    backend = counting;
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    await tx.bind('IP', Buffer.from('k'));
    tx.bindSync('ip', 'k');
    expect(counting.loads).toBe(1);
    await expect(tx.bind('ip', 'K')).rejects.toMatchObject({ code: 'already_bound' });
    expect(() => tx.bindSync('ip', 'other')).toThrow(expect.objectContaining({ code: 'already_bound' }));
  });

  test('two binds at once of the same key share one load; use before its end is not_initialized', async () => {
    const counting = new FaultBackend();
    backend = counting;
    const tx = collections().begin();
    const binds = [tx.bind('ip', 'k'), tx.bind('ip', 'k')];
    expect(() => tx.get('ip', 'a')).toThrow(expect.objectContaining({ code: 'not_initialized' }));
    expect(() => tx.bindSync('ip', 'k')).toThrow(expect.objectContaining({ code: 'not_initialized' }));
    expect(tx.isBound('ip')).toBe(false);
    await Promise.all(binds);
    expect(tx.isBound('ip')).toBe(true);
    expect(counting.loads).toBe(1);
  });

  test('bindSync on an engine that loads asynchronously is missing_feature', () => {
    backend = new FaultBackend(['optimistic_revisions']);
    expect(() => collections().begin().bindSync('ip', 'k')).toThrow(
      expect.objectContaining({ code: 'missing_feature', details: { option: 'synchronous_load' } }),
    );
  });

  test.each(['get', 'has', 'set', 'add', 'subtract', 'remove', 'expire', 'deprecate'] as const)(
    '%s of an unbound collection is not_initialized',
    (method) => {
      const tx = collections().begin();
      const call = () => (tx[method] as (...args: unknown[]) => unknown).call(tx, 'ip', 'a', 1, 1);
      expect(call).toThrow(expect.objectContaining({ code: 'not_initialized' }));
    },
  );

  test('the five collections and the application ids are records apart under one key', async () => {
    const names = ['ip', 'session', 'user', 'global', 'resource'] as const;
    for (const applicationId of ['', 'shop']) {
      const tx = new Collections({ backend, clock, applicationId }).begin();
      for (const name of names) {
        await tx.bind(name, 'k');
        expect(tx.count(name)).toBe(0);
        tx.set(name, 'where', `${applicationId}/${name}`);
      }
      await tx.processLogging();
    }
    const tx = new Collections({ backend, clock, applicationId: Buffer.from('shop') }).begin();
    for (const name of names) {
      tx.bindSync(name, 'k');
      expect(tx.get(name, 'where')).toBe(`shop/${name}`);
    }
  });

  test('keys are opaque, case-sensitive bytes', async () => {
    const write = collections().begin();
    await write.bind('ip', new Uint8Array([0, 255]));
    write.set('ip', 'a', '1');
    await write.processLogging();
    for (const [key, value] of [
      [Buffer.from([0, 255]), '1'],
      [Buffer.from([0, 254]), undefined],
    ] as const) {
      const read = collections().begin();
      read.bindSync('ip', key);
      expect(read.get('ip', 'a')).toBe(value);
    }
    const text = collections().begin();
    text.bindSync('user', 'Ünï');
    text.set('user', 'a', '1');
    await text.processLogging();
    const lower = collections().begin();
    lower.bindSync('user', 'ünï');
    expect(lower.get('user', 'a')).toBeUndefined();
  });

  test.each([
    ['empty', ''],
    ['1025 bytes', 'k'.repeat(1025)],
    ['1025 bytes in 513 characters', `${'ü'.repeat(512)}k`],
    ['a lone surrogate', 'a\ud800'],
    ['no text', 5 as unknown as string],
    ['undefined', undefined as unknown as string],
  ])('a key that is %s is invalid_key', async (_, key) => {
    const tx = collections().begin();
    await expect(tx.bind('ip', key)).rejects.toMatchObject({ code: 'invalid_key' });
    await expect(tx.setSession(key)).rejects.toMatchObject({ code: 'invalid_key' });
    expect(tx.sessionId).toBeUndefined();
    await tx.bind('ip', 'k'.repeat(1024));
  });

  test('a word that is no collection is invalid_option; tx has no record to bind', async () => {
    const tx = collections().begin();
    expect(() => tx.get('cookie' as 'ip', 'a')).toThrow(expect.objectContaining({ code: 'invalid_option' }));
    expect(() => tx.get('constructor' as 'ip', 'a')).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    );
    await expect(tx.bind('tx' as 'ip', 'k')).rejects.toMatchObject({ code: 'unsupported' });
    expect(() => tx.expire('TX' as 'ip', 'a', 1)).toThrow(expect.objectContaining({ code: 'unsupported' }));
  });

  test('setSession, setUser and setResource bind and publish the last key given', async () => {
    const tx = collections().begin();
    await tx.setSession('s1');
    tx.setUserSync('u1');
    await tx.setResource(Buffer.from('r1'));
    expect([tx.sessionId, tx.userId, tx.resource]).toEqual(['s1', 'u1', 'r1']);
    tx.set('session', 'a', '1');
    await expect(tx.setSession('s2')).rejects.toMatchObject({ code: 'already_bound' });
    expect(() => tx.setUserSync('u2')).toThrow(expect.objectContaining({ code: 'already_bound' }));
    expect([tx.sessionId, tx.userId]).toEqual(['s2', 'u2']);
    expect(tx.facts('session').key).toBe('s1');
  });
});

describe('reading', () => {
  test('names compare without regard to ASCII case and come out in lower case', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'Dos_COUNTER', 2);
    tx.set('IP', 'ÜBER', 'x');
    expect(tx.get('IP', 'DOS_counter')).toBe('2');
    expect(tx.get('ip', 'Über')).toBe('x');
    expect(tx.get('ip', 'über')).toBeUndefined();
    expect(tx.list('ip')).toEqual([
      ['dos_counter', '2'],
      ['Über', 'x'],
    ]);
  });

  test('get gives text, getBytes the exact bytes', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'bytes', new Uint8Array([1, 255, 0]));
    tx.set('ip', 'text', 'naïve €');
    tx.set('ip', 'number', -7);
    tx.set('ip', 'bigint', 2n ** 63n - 1n);
    await tx.processLogging();
    const read = collections().begin();
    await read.bind('ip', 'k');
    expect(read.getBytes('ip', 'bytes')).toEqual(Buffer.from([1, 255, 0]));
    expect(read.get('ip', 'bytes')).toBe('\u0001\ufffd\u0000');
    expect(read.get('ip', 'text')).toBe('naïve €');
    expect(read.getBytes('ip', 'text')).toEqual(Buffer.from('naïve €'));
    expect(read.get('ip', 'number')).toBe('-7');
    expect(read.get('ip', 'bigint')).toBe('9223372036854775807');
    expect(read.getBytes('ip', 'none')).toBeUndefined();
  });

  test('a transaction reads its own writes; others do after the flush only', async () => {
    const tx = collections().begin();
    const other = collections().begin();
    await tx.bind('ip', 'k');
    await other.bind('ip', 'k');
    tx.add('ip', 'n', 5);
    tx.subtract('ip', 'n', 2n);
    tx.set('ip', 'gone', 'x');
    tx.remove('ip', 'gone');
    expect([tx.get('ip', 'n'), tx.has('ip', 'gone'), tx.count('ip')]).toEqual(['3', false, 1]);
    expect(other.count('ip')).toBe(0);
    await tx.processLogging();
    expect(other.count('ip')).toBe(0);
    const later = collections().begin();
    await later.bind('ip', 'k');
    expect(later.list('ip')).toEqual([['n', '3']]);
  });

  test('expired variables are absent at the clock of the read, and a counter then begins anew', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 5);
    tx.expire('ip', 'n', 1.5);
    clock.advance(1.499999999);
    expect(tx.get('ip', 'n')).toBe('5');
    clock.advance(0.000000001);
    expect([tx.get('ip', 'n'), tx.count('ip'), tx.list('ip')]).toEqual([undefined, 0, []]);
    tx.add('ip', 'n', 1);
    expect(tx.get('ip', 'n')).toBe('1');
    tx.expire('ip', 'n', 0);
    expect(tx.get('ip', 'n')).toBeUndefined();
  });

  test('a deadline that passes after the mutation changes what the mutation leaves', async () => {
    const first = collections().begin();
    await first.bind('ip', 'k');
    first.set('ip', 'n', 5);
    first.expire('ip', 'n', 10);
    await first.processLogging();
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    expect(tx.get('ip', 'n')).toBe('6');
    clock.advance(10);
    expect(tx.get('ip', 'n')).toBe('1');
    const flushed = await tx.processLogging();
    expect(flushed.ip?.values).toEqual(new Map([['n', '1']]));
  });

  test('deprecate forgives whole periods and keeps the remainder', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'n', 10);
    await tx.processLogging();
    clock.advance(25);
    const later = collections().begin();
    await later.bind('ip', 'k');
    later.deprecate('ip', 'n', 2, 10);
    expect(later.get('ip', 'n')).toBe('6');
    await later.processLogging();
    clock.advance(5);
    later.deprecate('ip', 'n', 2n, 10n);
    expect(later.get('ip', 'n')).toBe('4');
  });

  test('a removed record is empty, and what follows begins a new one', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'a', '1');
    await tx.processLogging();
    tx.removeRecord('ip');
    expect([tx.count('ip'), tx.get('ip', 'IS_NEW')]).toEqual([0, '1']);
    tx.set('ip', 'b', '2');
    expect(tx.list('ip')).toEqual([['b', '2']]);
    await tx.processLogging();
    expect(tx.list('ip')).toEqual([['b', '2']]);
    tx.removeRecord('ip');
    const flushed = await tx.processLogging();
    expect(flushed.ip).toMatchObject({ revision: 0 });
    expect(tx.facts('ip')).toMatchObject({ revision: 0, isNew: true });
  });
});

describe('facts', () => {
  test('a new record is new, and has neither a last update nor a timeout', async () => {
    const tx = collections().begin();
    await tx.bind('ip', '203.0.113.9');
    const seconds = String(clock.time / 1_000_000_000n);
    expect(tx.get('ip', 'KEY')).toBe('203.0.113.9');
    expect(tx.get('ip', 'IS_NEW')).toBe('1');
    expect(tx.get('ip', 'CREATE_TIME')).toBe(seconds);
    expect(tx.get('ip', 'LAST_UPDATE_TIME')).toBeUndefined();
    expect(tx.get('ip', 'UPDATE_COUNTER')).toBe('0');
    expect(tx.get('ip', 'UPDATE_RATE')).toBe('0');
    expect(tx.get('ip', 'TIMEOUT')).toBeUndefined();
    expect([tx.count('ip'), tx.list('ip')]).toEqual([0, []]);
  });

  test('UPDATE_RATE is 60 times the updates by the seconds since creation, 0 in the first second', async () => {
    for (let update = 0; update < 7; update++) {
      const tx = collections().begin();
      await tx.bind('ip', 'k');
      tx.add('ip', 'n', 1);
      await tx.processLogging();
    }
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    clock.advance(0.999);
    expect(tx.get('ip', 'UPDATE_RATE')).toBe('0');
    clock.advance(10.001);
    expect(tx.facts('ip')).toMatchObject({ updateCounter: 7, updateRate: 38, isNew: false });
    expect(tx.get('ip', 'UPDATE_RATE')).toBe('38');
  });

  test('a fact is told from a variable by its exact spelling', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'key', 'mine');
    tx.set('ip', 'Key', 'same');
    expect([tx.get('ip', 'KEY'), tx.get('ip', 'key'), tx.count('ip')]).toEqual(['k', 'same', 1]);
    tx.set('tx', 'KEY', 'tx has no facts');
    expect(tx.get('tx', 'key')).toBe('tx has no facts');
  });

  test('facts other than TIMEOUT are read-only, and TIMEOUT only set and removed', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    for (const attempt of [
      () => tx.set('ip', 'IS_NEW', '1'),
      () => tx.remove('ip', 'KEY'),
      () => tx.add('ip', 'UPDATE_COUNTER', 1),
      () => tx.add('ip', 'TIMEOUT', 1),
      () => tx.expire('ip', 'TIMEOUT', 1),
      () => tx.set('ip', 'TIMEOUT', 'soon'),
      () => tx.set('ip', 'TIMEOUT', -1),
    ]) {
      expect(attempt).toThrow(expect.objectContaining({ code: 'invalid_mutation' }));
    }
    expect(await tx.processLogging()).toEqual({});
  });

  test('TIMEOUT slides with every commit, and the record is gone after it', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'n', 1);
    tx.set('ip', 'TIMEOUT', '10.5');
    expect(tx.get('ip', 'TIMEOUT')).toBe('10.5');
    await tx.processLogging();
    clock.advance(10);
    tx.add('ip', 'n', 1);
    await tx.processLogging();
    clock.advance(10.499999999);
    expect(tx.get('ip', 'n')).toBe('2');
    clock.advance(0.000000001);
    expect([tx.get('ip', 'n'), tx.get('ip', 'IS_NEW'), tx.count('ip')]).toEqual([undefined, '1', 0]);
    tx.add('ip', 'n', 1);
    await tx.processLogging();
    expect([tx.get('ip', 'n'), tx.get('ip', 'TIMEOUT')]).toEqual(['1', undefined]);
  });

  test('a configured timeout is that of new records; 0 and remove end it', async () => {
    const timed = new Collections({ backend, clock, timeouts: { ip: 60 } });
    const tx = timed.begin();
    await tx.bind('ip', 'k');
    await tx.bind('user', 'k');
    expect([tx.get('ip', 'TIMEOUT'), tx.get('user', 'TIMEOUT')]).toEqual(['60', undefined]);
    tx.set('ip', 'n', 1);
    await tx.processLogging();
    expect(tx.facts('ip').timeout).toBe(60_000_000_000n);
    for (const end of [() => tx.set('ip', 'TIMEOUT', 0), () => tx.remove('ip', 'TIMEOUT')]) {
      tx.set('ip', 'TIMEOUT', 5n);
      end();
      await tx.processLogging();
      clock.advance(100);
      expect([tx.get('ip', 'n'), tx.get('ip', 'TIMEOUT')]).toEqual(['1', undefined]);
    }
  });
});

describe('mutations', () => {
  test.each([
    ['an empty name', () => ['', '1']],
    ['a name of 1025 bytes', () => ['n'.repeat(1025), '1']],
    ['a name with a lone surrogate', () => ['n\udc00', '1']],
    ['a value of 32769 bytes', () => ['a', 'v'.repeat(32_769)]],
    ['a value with a lone surrogate', () => ['a', '\ud83d']],
    ['a value that is no integer', () => ['a', 1.5]],
    ['a value beyond 64 bits', () => ['a', 2n ** 63n]],
    ['a value that is no value', () => ['a', null]],
  ])('%s is invalid_mutation, at the call', async (_, make) => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    const [name, value] = make() as [string, string];
    expect(() => tx.set('ip', name, value)).toThrow(expect.objectContaining({ code: 'invalid_mutation' }));
    expect(() => tx.set('tx', name, value)).toThrow(expect.objectContaining({ code: 'invalid_mutation' }));
    expect([tx.count('ip'), tx.count('tx')]).toEqual([0, 0]);
    tx.set('ip', 'n'.repeat(1024), 'v'.repeat(32_768));
    await tx.processLogging();
  });

  test('a delta must be an integer within 64 bits', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    for (const delta of [
      0.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 53,
      2n ** 63n,
      '1' as unknown as number,
    ]) {
      expect(() => tx.add('ip', 'n', delta)).toThrow(expect.objectContaining({ code: 'invalid_mutation' }));
      expect(() => tx.subtract('tx', 'n', delta)).toThrow(
        expect.objectContaining({ code: 'invalid_mutation' }),
      );
    }
    tx.add('ip', 'n', -(2n ** 63n));
    tx.subtract('ip', 'm', 2n ** 63n - 1n);
    await tx.processLogging();
    expect([tx.get('ip', 'n'), tx.get('ip', 'm')]).toEqual(['-9223372036854775808', '-9223372036854775807']);
  });

  test('seconds must be finite and not negative; periods and amounts more than nothing', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    for (const attempt of [
      () => tx.expire('ip', 'n', -1),
      () => tx.expire('ip', 'n', Number.NaN),
      () => tx.expire('ip', 'n', Number.POSITIVE_INFINITY),
      () => tx.expire('ip', 'n', -1n),
      () => tx.deprecate('ip', 'n', 0, 1),
      () => tx.deprecate('ip', 'n', 1, 0),
      () => tx.deprecate('ip', 'n', 1, 1e-10),
      // Milliseconds for seconds.
      () => tx.expire('ip', 'n', Date.now()),
      () => tx.expire('ip', 'n', 1e300),
      () => tx.expire('ip', 'n', 315_360_001n),
      () => tx.deprecate('ip', 'n', 1, 10n ** 30n),
      () => tx.set('ip', 'TIMEOUT', 1e300),
      () => tx.set('ip', 'TIMEOUT', '999999999999999999'),
    ]) {
      expect(attempt).toThrow(expect.objectContaining({ code: 'invalid_mutation' }));
    }
    tx.set('ip', 'n', 1);
    tx.expire('ip', 'n', 315_360_000);
    tx.deprecate('ip', 'n', 1, 315_360_000n);
    await tx.processLogging();
    expect(tx.get('ip', 'n')).toBe('1');
  });

  test('the log is bounded over all collections, and the refused mutation leaves no trace', async () => {
    const tx = collections({ mutations: 3 }).begin();
    await tx.bind('ip', 'k');
    await tx.bind('user', 'k');
    tx.add('ip', 'n', 1);
    tx.add('user', 'n', 1);
    tx.add('ip', 'n', 1);
    expect(() => tx.add('user', 'n', 1)).toThrow(
      expect.objectContaining({
        code: 'capacity_exceeded',
        details: { space: 'user', option: 'mutations', limit: 3, actual: 4 },
      }),
    );
    expect(tx.get('user', 'n')).toBe('1');
    await tx.processLogging();
    tx.add('user', 'n', 1);
    const flushed = await tx.processLogging();
    expect(flushed.user?.values.get('n')).toBe('2');
  });

  test('an overflow fails the flush, publishes nothing, and a reader sees the value before it', async () => {
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.set('ip', 'other', '1');
    tx.set('ip', 'n', 2n ** 63n - 1n);
    tx.add('ip', 'n', 1);
    expect(tx.get('ip', 'n')).toBe('9223372036854775807');
    await expect(tx.processLogging()).rejects.toMatchObject({ code: 'capacity_exceeded' });
    const read = collections().begin();
    await read.bind('ip', 'k');
    expect(read.count('ip')).toBe(0);
  });

  test.each(['ip', 'tx'] as const)('a sum may be held at the bound instead, in %s', async (scope) => {
    const [most, least] = [2n ** 63n - 1n, -(2n ** 63n)];
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.set(scope, 'a', most);
    tx.add(scope, 'a', 1, 'saturate');
    tx.set(scope, 'b', least);
    tx.subtract(scope, 'b', 1, 'saturate');
    tx.subtract(scope, 'c', least, 'saturate');
    await tx.processLogging();
    expect(tx.list(scope)).toEqual([
      ['a', `${most}`],
      ['b', `${least}`],
      ['c', `${most}`],
    ]);
    expect(() => tx.add(scope, 'a', 1, 'wrap' as never)).toThrow("beyond must be 'refuse' or 'saturate'");
  });
});

describe('the end', () => {
  test('close drops what is pending and does no I/O; later use is closed', async () => {
    const counting = new FaultBackend();
    backend = counting;
    const tx = collections().begin();
    await tx.bind('ip', 'k');
    tx.add('ip', 'n', 1);
    tx.close();
    tx.close();
    expect(counting.commits).toEqual([]);
    for (const attempt of [
      () => tx.get('ip', 'n'),
      () => tx.get('tx', 'n'),
      () => tx.list('tx'),
      () => tx.add('ip', 'n', 1),
      () => tx.set('tx', 'n', 1),
      () => tx.checkpoint(),
      () => tx.facts('ip'),
      () => tx.bindSync('user', 'k'),
    ]) {
      expect(attempt).toThrow(expect.objectContaining({ code: 'closed' }));
    }
    await expect(tx.bind('user', 'k')).rejects.toMatchObject({ code: 'closed' });
    await expect(tx.setUser('k')).rejects.toMatchObject({ code: 'closed' });
    await expect(tx.processLogging()).rejects.toMatchObject({ code: 'closed' });
  });

  test('a transaction can be declared with using', async () => {
    let kept: ReturnType<Collections['begin']>;
    {
      using tx = collections().begin();
      kept = tx;
    }
    expect(() => kept.get('tx', 'a')).toThrow(expect.objectContaining({ code: 'closed' }));
  });

  test('a bind that ends after close is closed', async () => {
    const tx = collections().begin();
    const bind = tx.bind('ip', 'k');
    tx.close();
    await expect(bind).rejects.toMatchObject({ code: 'closed' });
  });
});
