import assert from 'node:assert/strict';
import { INT64_MAX, INT64_MIN, SECOND } from '../../contract/clock.js';
import { START } from '../session.js';
import { add, bytes, deprecate, expire, expireIfNone, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** Deadlines of variables. Needs `per_variable_expiry`. */
export function expiry(suite: Suite): void {
  if (!suite.has('per_variable_expiry')) return;
  suite.area('expiry', () => {
    coming(suite);
    setting(suite);
  });
}

function coming(suite: Suite): void {
  suite.rule('comes exactly at the deadline, not a nanosecond before', async (s) => {
    await s.write('k', [set('x', '1'), expire('x', s.in(10))]);
    s.now = START + 10n * SECOND - 1n;
    assert.equal(await s.value('k', 'x'), '1');
    s.now += 1n;
    assert.equal(await s.value('k', 'x'), undefined);
  });

  suite.rule('lets a counter restart at its delta after its window', async (s) => {
    for (let window = 0; window < 3; window++) {
      for (let count = 1n; count <= 3n; count++) {
        const { values } = await s.write('k', [add('n', 1n), expireIfNone('n', s.in(60))]);
        assert.equal(values.get(bytes('n'))?.value, String(count));
        s.wait(10);
      }
      s.wait(30);
    }
  });

  suite.rule('takes the deadline with it: a variable set after it lives on', async (s) => {
    await s.write('k', [set('x', '1'), expire('x', s.in(10))]);
    s.wait(10);
    const { values } = await s.write('k', [set('x', '2')]);
    assert.deepEqual(values.get(bytes('x')), { value: '2', deadline: undefined });
    s.wait(1000);
    assert.equal(await s.value('k', 'x'), '2');
  });

  suite.rule('takes the decay clock with it', async (s) => {
    await s.write('k', [set('x', '100'), expire('x', s.in(10))]);
    s.wait(10);
    await s.write('k', [set('x', '100')]);
    s.wait(5);
    await s.write('k', [deprecate('x', 1n, 10n * SECOND, s.now)]);
    assert.equal(await s.value('k', 'x'), '100');
  });

  suite.rule('of a pending deadline makes a value set later one without deadline', async (s) => {
    await s.write('k', [expire('x', s.in(10))]);
    s.wait(10);
    const { values } = await s.write('k', [set('x', '1')]);
    assert.deepEqual(values.get(bytes('x')), { value: '1', deadline: undefined });
  });

  suite.rule(
    'that has come is undone neither by a later deadline nor by one that is only for none',
    async (s) => {
      await s.write('k', [set('x', '1'), set('y', '1'), expire('x', s.in(10)), expire('y', s.in(10))]);
      s.wait(10);
      await s.write('k', [expire('x', s.in(60)), expireIfNone('y', s.in(60))]);
      assert.deepEqual(await s.values('k'), {});
      assert.deepEqual(await s.values('k', true), { x: undefined, y: undefined });
    },
  );

  suite.rule('is of each variable alone', async (s) => {
    const values = [set('a', '1'), set('b', '2'), set('c', '3')];
    await s.write('k', [...values, expire('a', s.in(10)), expire('b', s.in(20))]);
    s.wait(10);
    assert.deepEqual(await s.values('k'), { b: '2', c: '3' });
    s.wait(10);
    assert.deepEqual(await s.values('k'), { c: '3' });
  });

  suite.rule('of every variable leaves the record, its revision and its facts', async (s) => {
    const { revision } = await s.write('k', [set('x', '1'), expire('x', s.in(10))]);
    s.wait(10);
    const snapshot = await s.load('k');
    assert.equal(snapshot.revision, revision);
    assert.equal(snapshot.facts?.updateCount, 1);
    assert.equal((await s.write('k', [set('x', '1')])).existed, true);
  });
}

function setting(suite: Suite): void {
  suite.rule('hides a pending deadline until it has its value', async (s) => {
    const { values } = await s.write('k', [expire('x', s.in(10))]);
    assert.deepEqual([...values], [['x', undefined]]);
    assert.deepEqual(await s.values('k'), {});
    await s.write('k', [add('x', 1n)]);
    assert.equal(await s.value('k', 'x'), '1');
    s.wait(10);
    assert.equal(await s.value('k', 'x'), undefined);
  });

  suite.rule('at now hides at once', async (s) => {
    const { values } = await s.write('k', [set('x', '1'), expire('x', s.now)]);
    assert.equal(values.get(bytes('x')), undefined);
    assert.equal(await s.value('k', 'x'), undefined);
  });

  suite.rule('at now and then a set in the same batch makes a new variable without deadline', async (s) => {
    const { values } = await s.write('k', [set('x', '1'), expire('x', s.now), set('x', '2')]);
    assert.deepEqual(values.get(bytes('x')), { value: '2', deadline: undefined });
    s.wait(1000);
    assert.equal(await s.value('k', 'x'), '2');
  });

  suite.rule('is moved by another expire, later and earlier', async (s) => {
    await s.write('k', [set('x', '1'), expire('x', s.in(10))]);
    await s.write('k', [expire('x', s.in(60))]);
    s.wait(30);
    assert.equal(await s.value('k', 'x'), '1');
    await s.write('k', [expire('x', s.in(5))]);
    s.wait(5);
    assert.equal(await s.value('k', 'x'), undefined);
  });

  suite.rule('takes deadlines at the bounds of 64 bits', async (s) => {
    const ends = [expire('max', INT64_MAX), expire('min', INT64_MIN)];
    const { values } = await s.write('k', [set('max', '1'), set('min', '1'), ...ends]);
    assert.deepEqual(values.get(bytes('max')), { value: '1', deadline: INT64_MAX });
    assert.equal(values.get(bytes('min')), undefined);
    assert.equal((await s.load('k', true)).variables.get(bytes('min'))?.deadline, INT64_MIN);
  });

  suite.rule('gives the deadline with the variable, to the nanosecond', async (s) => {
    const deadline = s.in(1) + 7n;
    await s.write('k', [set('x', '1'), expire('x', deadline), set('y', '1')]);
    const { variables } = await s.load('k');
    assert.equal(variables.get(bytes('x'))?.deadline, deadline);
    assert.equal(variables.get(bytes('y'))?.deadline, undefined);
  });
}
