import assert from 'node:assert/strict';
import { INT64_MAX, SECOND } from '../../contract/clock.js';
import type { Mutation } from '../../contract/mutation.js';
import { add, bytes, deprecate, remove, set } from '../steps.js';
import type { Suite } from '../suite.js';

const PERIOD = 10n * SECOND;

function forgive(amount: bigint, at: bigint): Mutation {
  return deprecate('x', amount, PERIOD, at);
}

/** `deprecate`: forgiveness by whole periods on each variable's own clock. */
export function decay(suite: Suite): void {
  suite.area('decay', () => {
    amounts(suite);
    clocks(suite);
  });
}

function amounts(suite: Suite): void {
  suite.rule('takes the amount for each whole period that has elapsed', async (s) => {
    await s.write('k', [set('x', '100')]);
    s.wait(35);
    await s.write('k', [forgive(5n, s.now)]);
    assert.equal(await s.value('k', 'x'), '85');
  });

  suite.rule('does nothing before a period has elapsed', async (s) => {
    await s.write('k', [set('x', '100')]);
    s.wait(9.999);
    await s.write('k', [forgive(1n, s.now)]);
    assert.equal(await s.value('k', 'x'), '100');
    s.wait(0.001);
    await s.write('k', [forgive(1n, s.now)]);
    assert.equal(await s.value('k', 'x'), '99');
  });

  suite.rule('does not go below zero', async (s) => {
    await s.write('k', [set('x', '3')]);
    s.wait(100);
    await s.write('k', [forgive(1n, s.now)]);
    assert.equal(await s.value('k', 'x'), '0');
  });

  suite.rule('leaves zero, negative and non-numeric values as they are, spelling included', async (s) => {
    await s.write('k', [set('a', '0'), set('b', '-5'), set('c', 'text'), set('d', '-007')]);
    s.wait(100);
    await s.write(
      'k',
      ['a', 'b', 'c', 'd'].map((name) => deprecate(name, 1n, SECOND, s.now)),
    );
    assert.deepEqual(await s.values('k'), { a: '0', b: '-5', c: 'text', d: '-007' });
  });

  suite.rule('reads the value as add does', async (s) => {
    await s.write('k', [set('x', ' 12x')]);
    s.wait(10);
    await s.write('k', [forgive(1n, s.now)]);
    assert.equal(await s.value('k', 'x'), '11');
  });

  suite.rule('does not make a variable', async (s) => {
    await s.write('k', [set('y', '1'), forgive(1n, s.now)]);
    assert.deepEqual(await s.values('k', true), { y: '1' });
  });

  suite.rule('stays exact with the largest amount and many periods', async (s) => {
    await s.write('k', [set('x', String(INT64_MAX)), set('y', String(INT64_MAX))]);
    s.wait(100);
    await s.write('k', [deprecate('x', INT64_MAX, 1n, s.now), deprecate('y', 1n, 1n, s.now)]);
    assert.deepEqual(await s.values('k'), { x: '0', y: String(INT64_MAX - 100n * SECOND) });
  });
}

function clocks(suite: Suite): void {
  suite.rule('keeps the remainder of a period', async (s) => {
    await s.write('k', [set('x', '100')]);
    for (let i = 0; i < 4; i++) {
      s.wait(15);
      await s.write('k', [forgive(1n, s.now)]);
    }
    assert.equal(await s.value('k', 'x'), '94');
  });

  suite.rule('has a clock that set and add do not reset', async (s) => {
    await s.write('k', [set('x', '100')]);
    s.wait(8);
    await s.write('k', [add('x', 1n)]);
    s.wait(8);
    await s.write('k', [set('x', '50')]);
    s.wait(4);
    await s.write('k', [forgive(1n, s.now)]);
    assert.equal(await s.value('k', 'x'), '48');
  });

  suite.rule('has a clock of its own for each variable', async (s) => {
    await s.write('k', [set('x', '100')]);
    s.wait(7);
    await s.write('k', [set('y', '100')]);
    s.wait(7);
    await s.write('k', [forgive(1n, s.now), deprecate('y', 1n, PERIOD, s.now)]);
    assert.deepEqual(await s.values('k'), { x: '99', y: '100' });
  });

  suite.rule('has a clock that begins anew with a removed variable', async (s) => {
    await s.write('k', [set('x', '100')]);
    s.wait(8);
    await s.write('k', [remove('x'), set('x', '100')]);
    s.wait(8);
    await s.write('k', [forgive(1n, s.now)]);
    assert.equal(await s.value('k', 'x'), '100');
  });

  suite.rule('moves the clock while there is nothing to forgive', async (s) => {
    await s.write('k', [set('x', '0')]);
    s.wait(100);
    await s.write('k', [forgive(1n, s.now), add('x', 5n)]);
    s.wait(5);
    await s.write('k', [forgive(1n, s.now)]);
    assert.equal(await s.value('k', 'x'), '5');
  });

  suite.rule('counts to the time of the call, not of the commit', async (s) => {
    await s.write('k', [set('x', '100')]);
    const called = s.in(10);
    s.wait(25);
    await s.write('k', [forgive(1n, called)]);
    const { variables } = await s.load('k');
    assert.equal(variables.get(bytes('x'))?.value, '99');
    assert.equal(variables.get(bytes('x'))?.clock, called);
  });

  suite.rule('called before the clock changes nothing', async (s) => {
    await s.write('k', [set('x', '100')]);
    await s.write('k', [forgive(1n, s.in(-60))]);
    assert.equal(await s.value('k', 'x'), '100');
  });
}
