import assert from 'node:assert/strict';
import { SECOND } from '../../contract/clock.js';
import { add, bytes, expire, expireIfNone, remove, removeRecord, set, subtract } from '../steps.js';
import type { Suite } from '../suite.js';

/** What each step of a batch does, and what a commit tells about it. */
export function mutations(suite: Suite): void {
  suite.area('mutations', () => {
    variables(suite);
    records(suite);
    if (suite.has('per_variable_expiry')) deadlines(suite);
  });
}

function variables(suite: Suite): void {
  suite.rule('set creates a variable and replaces its value', async (s) => {
    await s.write('k', [set('x', 'a')]);
    assert.equal(await s.value('k', 'x'), 'a');
    await s.write('k', [set('x', 'b')]);
    assert.equal(await s.value('k', 'x'), 'b');
  });

  suite.rule('set takes an empty value, which is not the same as no variable', async (s) => {
    await s.write('k', [set('x', '')]);
    assert.deepEqual(await s.values('k'), { x: '' });
  });

  suite.rule('set keeps the exact spelling of what looks like a number', async (s) => {
    const spellings = ['007', '+7', '-0', ' 7', '7 ', '1e3', '0x10', '9223372036854775808', '1.0', '00', '-'];
    const canonical = ['0', '7', '-7', '9223372036854775807', '-9223372036854775808'];
    for (const [index, value] of [...spellings, ...canonical].entries()) {
      const result = await s.write('k', [set(`v${index}`, value)]);
      assert.equal(result.values.get(bytes(`v${index}`))?.value, value);
      assert.equal(await s.value('k', `v${index}`), value);
    }
  });

  suite.rule('remove takes the variable away, and of an absent one is no error', async (s) => {
    await s.write('k', [set('x', '1'), set('y', '2')]);
    await s.write('k', [remove('x'), remove('z')]);
    assert.deepEqual(await s.values('k'), { y: '2' });
  });

  suite.rule('add and subtract count from 0 where there is no variable', async (s) => {
    await s.write('k', [add('up', 5n), subtract('down', 5n)]);
    assert.deepEqual(await s.values('k'), { down: '-5', up: '5' });
  });

  suite.rule('are applied in order', async (s) => {
    await s.write('k', [set('x', '10'), add('x', 5n), set('y', '1'), remove('y'), subtract('x', 1n)]);
    assert.deepEqual(await s.values('k'), { x: '14' });
    await s.write('k', [remove('x'), add('x', 1n)]);
    assert.deepEqual(await s.values('k'), { x: '1' });
  });

  suite.rule('tell the touched variables after the batch, in the order of first touch', async (s) => {
    await s.write('k', [set('untouched', '0')]);
    const batch = [add('b', 2n), set('a', 'x'), add('b', 3n), set('c', '1'), remove('c')];
    const { values } = await s.write('k', batch);
    assert.deepEqual([...values.keys()], ['b', 'a', 'c']);
    assert.deepEqual(values.get(bytes('b')), { value: '5', deadline: undefined });
    assert.deepEqual(values.get(bytes('a')), { value: 'x', deadline: undefined });
    assert.equal(values.get(bytes('c')), undefined);
  });

  suite.rule('tell whether the record was there before', async (s) => {
    assert.equal((await s.write('k', [set('x', '1')])).existed, false);
    assert.equal((await s.write('k', [set('x', '1')])).existed, true);
    assert.equal((await s.write('k', [removeRecord()])).existed, true);
    assert.equal((await s.write('k', [removeRecord()])).existed, false);
  });
}

function records(suite: Suite): void {
  suite.rule('removeRecord takes everything away', async (s) => {
    await s.write('k', [set('x', '1'), set('y', '2')], { timeout: 60n * SECOND });
    const result = await s.write('k', [set('z', '3'), removeRecord()]);
    assert.equal(result.revision, 0);
    assert.deepEqual([...result.values], [['z', undefined]]);
    const snapshot = await s.load('k', true);
    assert.equal(snapshot.revision, 0);
    assert.equal(snapshot.variables.size, 0);
  });

  suite.rule('after removeRecord begin a new record in the same batch', async (s) => {
    await s.write('k', [set('x', '1'), set('y', '2')]);
    s.wait(5);
    const result = await s.write('k', [add('x', 1n), removeRecord(), add('x', 1n)]);
    assert.equal(result.existed, true);
    assert.ok(result.revision > 0);
    assert.deepEqual(await s.values('k', true), { x: '1' });
    const { facts } = await s.load('k');
    assert.deepEqual(facts, { created: s.now, updated: s.now, updateCount: 1, timeout: undefined });
  });

  suite.rule('of a removed record that is made anew begin with new facts', async (s) => {
    await s.write('k', [set('x', '1')], { timeout: 60n * SECOND });
    await s.write('k', [removeRecord()]);
    s.wait(5);
    await s.write('k', [set('y', '1')]);
    assert.deepEqual(await s.values('k', true), { y: '1' });
    const { facts } = await s.load('k');
    assert.deepEqual(facts, { created: s.now, updated: s.now, updateCount: 1, timeout: undefined });
  });

  suite.rule('leave other records alone', async (s) => {
    await s.write('a', [set('x', '1')]);
    await s.write('b', [set('x', '2')]);
    await s.write('a', [removeRecord()]);
    assert.deepEqual(await s.values('b'), { x: '2' });
  });
}

function deadlines(suite: Suite): void {
  suite.rule('set keeps a deadline that has not come, also one set before the value', async (s) => {
    const deadline = s.in(60);
    await s.write('k', [set('x', '1'), expire('x', deadline), expire('y', deadline)]);
    const { values } = await s.write('k', [set('x', '2'), set('y', '2')]);
    assert.deepEqual(values.get(bytes('x')), { value: '2', deadline });
    assert.deepEqual(values.get(bytes('y')), { value: '2', deadline });
  });

  suite.rule('add keeps a deadline that has not come', async (s) => {
    const deadline = s.in(60);
    await s.write('k', [add('x', 1n), expire('x', deadline)]);
    const { values } = await s.write('k', [add('x', 1n)]);
    assert.deepEqual(values.get(bytes('x')), { value: '2', deadline });
  });

  suite.rule('remove takes the deadline too, so that a later value lives on', async (s) => {
    await s.write('k', [set('x', '1'), expire('x', s.in(10))]);
    await s.write('k', [remove('x')]);
    const { values } = await s.write('k', [set('x', '2')]);
    assert.deepEqual(values.get(bytes('x')), { value: '2', deadline: undefined });
    s.wait(10);
    assert.equal(await s.value('k', 'x'), '2');
  });

  suite.rule('remove takes a pending deadline too', async (s) => {
    await s.write('k', [expire('x', s.in(10)), remove('x'), set('x', '1')]);
    s.wait(10);
    assert.equal(await s.value('k', 'x'), '1');
  });

  suite.rule('expire only if there is none keeps the deadline that is there', async (s) => {
    const first = s.in(60);
    await s.write('k', [add('x', 1n), expireIfNone('x', first)]);
    s.wait(10);
    const { values } = await s.write('k', [add('x', 1n), expireIfNone('x', s.in(60))]);
    assert.deepEqual(values.get(bytes('x')), { value: '2', deadline: first });
  });
}
