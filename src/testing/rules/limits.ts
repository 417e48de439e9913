import assert from 'node:assert/strict';
import { INT64_MAX } from '../../contract/clock.js';
import type { ErrorCode } from '../../contract/errors.js';
import type { Mutation } from '../../contract/mutation.js';
import { record, rejects } from '../session.js';
import { add, deprecate, expire, remove, set, timeout } from '../steps.js';
import type { Suite } from '../suite.js';

/** Every bound is checked before anything is done, and what is beyond it is a typed error. */
export function limits(suite: Suite): void {
  suite.area('limits', () => {
    keys(suite);
    steps(suite);
    sizes(suite);
  });
}

function keys(suite: Suite): void {
  suite.rule('take a key of 1 to keyBytes bytes', async (s) => {
    await s.write('k'.repeat(1024), [set('x', '1')]);
    assert.equal(await s.value('k'.repeat(1024), 'x'), '1');
    for (const key of ['', 'k'.repeat(1025)]) {
      await rejects(() => s.write(key, [set('x', '1')], { expect: suite.forAbsent }), 'invalid_key');
      await rejects(() => s.load(key), 'invalid_key');
    }
    s.limit({ keyBytes: 8 });
    await rejects(() => s.load('k'.repeat(9)), 'invalid_key');
  });

  suite.rule('take an application id of 0 to 255 bytes', async (s) => {
    for (const id of ['', 'a'.repeat(255)]) {
      await s.write(record('k', 1, id), [set('x', id.slice(0, 3))]);
      assert.equal(await s.value(record('k', 1, id), 'x'), id.slice(0, 3));
    }
    await rejects(() => s.load(record('k', 1, 'a'.repeat(256))), 'invalid_key');
  });

  suite.rule('take the spaces of the collections and of the stores, and no other', async (s) => {
    for (const space of [1, 5, 16, 255]) await s.write(record('k', space), [set('x', String(space))]);
    for (const space of [1, 5, 16, 255]) assert.equal(await s.value(record('k', space), 'x'), String(space));
    for (const space of [0, 6, 15, 256, -1, 1.5]) {
      await rejects(() => s.load(record('k', space)), 'invalid_key');
    }
  });

  if (suite.has('synchronous_load')) {
    suite.rule('hold for loadSync too', async (s) => {
      await rejects(async () => s.loadSync(''), 'invalid_key');
    });
  }
}

function steps(suite: Suite): void {
  const refused: readonly (readonly [what: string, mutation: Mutation])[] = [
    ['an empty name', set('', '1')],
    ['a name over nameBytes', set('n'.repeat(1025), '1')],
    ['a name in upper case', set('Name', '1')],
    ['a value over valueBytes', set('x', 'v'.repeat(32 * 1024 + 1))],
    ['a delta beyond 64 bits', add('x', INT64_MAX + 1n)],
    ['an amount of 0', deprecate('x', 0n, 1n, 0n)],
    ['a negative amount', deprecate('x', -1n, 1n, 0n)],
    ['a period of 0', deprecate('x', 1n, 0n, 0n)],
    ['a timeout of 0', timeout(0n)],
    ['a negative timeout', timeout(-1n)],
    ...(suite.has('per_variable_expiry')
      ? [['a deadline beyond 64 bits', expire('x', INT64_MAX + 1n)] as const]
      : []),
  ];
  suite.rule('refuse each step that no record can hold as invalid_mutation', async (s) => {
    for (const [what, mutation] of refused) {
      await rejects(
        () => s.write('k', [set('y', '1'), mutation], { expect: suite.forAbsent }),
        'invalid_mutation',
      ).catch((error: unknown) => assert.fail(`${what}: ${String(error)}`));
      assert.equal(await s.revision('k'), 0, what);
    }
  });

  suite.rule('take names and values of the full length', async (s) => {
    await s.write('k', [set('n'.repeat(1024), 'v'.repeat(32 * 1024))]);
    assert.equal(await s.value('k', 'n'.repeat(1024)), 'v'.repeat(32 * 1024));
  });

  suite.rule('count the mutations of a commit', async (s) => {
    s.limit({ mutations: 3 });
    await s.write('k', [add('x', 1n), add('x', 1n), add('x', 1n)]);
    const steps = [add('x', 1n), add('x', 1n), add('x', 1n), add('x', 1n)];
    const error = await rejects(() => s.write('k', steps), 'capacity_exceeded');
    assert.deepEqual([error.details.limit, error.details.actual], [3, 4]);
    assert.equal(await s.value('k', 'x'), '3');
  });

  suite.rule('keep keys and values out of the messages', async (s) => {
    const secret = 'topsecret'.repeat(200);
    for (const attempt of [
      () => s.load(secret),
      () => s.write('k', [set(secret, '1')], { expect: suite.forAbsent }),
      () => s.write('k', [set('x', secret.repeat(20))], { expect: suite.forAbsent }),
    ]) {
      const error = await rejects(
        attempt,
        attempt.toString().includes('load') ? 'invalid_key' : 'invalid_mutation',
      );
      assert.ok(!error.message.includes('topsecret') && !JSON.stringify(error.details).includes('topsecret'));
    }
  });
}

function sizes(suite: Suite): void {
  const beyond: ErrorCode = 'capacity_exceeded';

  suite.rule('count the variables of a record', async (s) => {
    s.limit({ variables: 3 });
    await s.write('k', [set('a', '1'), set('b', '2'), set('c', '3')]);
    const error = await rejects(() => s.write('k', [set('d', '4')]), beyond);
    assert.deepEqual([error.details.limit, error.details.actual], [3, 4]);
    await s.write('k', [set('a', '9')]);
    await s.write('k', [remove('a'), set('d', '4')]);
    assert.deepEqual(await s.values('k'), { b: '2', c: '3', d: '4' });
  });

  suite.rule('take 4096 variables by default and not one more', async (s) => {
    const batch = Array.from({ length: 4096 }, (_, index) => set(`v${index}`, '1'));
    await s.write('k', batch);
    assert.equal((await s.load('k')).variables.size, 4096);
    await rejects(() => s.write('k', [set('another', '1')]), beyond);
    assert.equal((await s.load('k')).variables.size, 4096);
  });

  suite.rule('count the bytes of names and values, as a reader sees them', async (s) => {
    s.limit({ recordBytes: 20 });
    await s.write('k', [set('name', '-123456'), set('text', 'abcde')]);
    const error = await rejects(() => s.write('k', [set('text', 'abcdef')]), beyond);
    assert.deepEqual([error.details.limit, error.details.actual], [20, 21]);
    await rejects(() => s.write('k', [add('name', -9_000_000n)]), beyond);
    assert.deepEqual(await s.values('k'), { name: '-123456', text: 'abcde' });
  });

  suite.rule('let a record that is over a lowered limit be made smaller, and not larger', async (s) => {
    await s.write('k', [set('a', 'x'.repeat(50)), set('b', 'x'.repeat(50))]);
    s.limit({ recordBytes: 20 });
    await rejects(() => s.write('k', [set('c', '1')]), beyond);
    await s.write('k', [set('a', 'x')]);
    await s.write('k', [remove('b')]);
    assert.deepEqual(await s.values('k'), { a: 'x' });
  });

  if (suite.has('per_variable_expiry')) {
    suite.rule('make room for a variable by dropping what is expired', async (s) => {
      s.limit({ variables: 3 });
      await s.write('k', [
        set('a', '1'),
        set('b', '2'),
        expire('a', s.in(10)),
        expire('b', s.in(10)),
        set('c', '3'),
      ]);
      await rejects(() => s.write('k', [set('d', '4')]), beyond);
      s.wait(10);
      await s.write('k', [set('d', '4')]);
      assert.deepEqual(await s.values('k', true), { c: '3', d: '4' });
    });

    suite.rule('make room for bytes by dropping what is expired', async (s) => {
      s.limit({ recordBytes: 20 });
      await s.write('k', [set('a', 'x'.repeat(9)), expire('a', s.in(10)), set('b', '1')]);
      s.wait(10);
      await s.write('k', [set('c', 'x'.repeat(15))]);
      assert.deepEqual(await s.values('k', true), { b: '1', c: 'x'.repeat(15) });
    });

    suite.rule('count a pending deadline as a variable', async (s) => {
      s.limit({ variables: 2 });
      await s.write('k', [expire('a', s.in(10)), expire('b', s.in(10))]);
      await rejects(() => s.write('k', [expire('c', s.in(10))]), beyond);
    });
  }
}
