import assert from 'node:assert/strict';
import { INT64_MAX, SECOND } from '../../contract/clock.js';
import { START } from '../session.js';
import { add, bytes, removeRecord, set, timeout } from '../steps.js';
import type { Suite } from '../suite.js';

/** The sliding timeout of a record. */
export function timeouts(suite: Suite): void {
  suite.area('timeout', () => {
    sliding(suite);
    choosing(suite);
  });
}

function sliding(suite: Suite): void {
  suite.rule('ends the record exactly so long after its last commit', async (s) => {
    await s.write('k', [set('x', '1')], { timeout: 10n * SECOND });
    s.now = START + 10n * SECOND - 1n;
    assert.equal(await s.value('k', 'x'), '1');
    s.now += 1n;
    const snapshot = await s.load('k');
    assert.equal(snapshot.revision, 0);
    assert.equal(snapshot.facts, undefined);
    assert.equal(snapshot.variables.size, 0);
  });

  suite.rule('is renewed by every commit', async (s) => {
    await s.write('k', [set('x', '1')], { timeout: 10n * SECOND });
    for (let i = 0; i < 5; i++) {
      s.wait(9);
      await s.write('k', [add('n', 1n)]);
    }
    assert.deepEqual(await s.values('k'), { n: '5', x: '1' });
  });

  suite.rule('is not renewed by loading', async (s) => {
    await s.write('k', [set('x', '1')], { timeout: 10n * SECOND });
    s.wait(9);
    await s.load('k');
    s.wait(1);
    assert.equal(await s.revision('k'), 0);
  });

  suite.rule('lets a commit begin a new record without anything of the old one', async (s) => {
    await s.write('k', [set('x', '1'), add('n', 5n)], { timeout: 10n * SECOND });
    s.wait(10);
    const { existed, values } = await s.write('k', [add('n', 1n)]);
    assert.equal(existed, false);
    assert.equal(values.get(bytes('n'))?.value, '1');
    const snapshot = await s.load('k', true);
    assert.deepEqual([...snapshot.variables.keys()], ['n']);
    assert.deepEqual(snapshot.facts, { created: s.now, updated: s.now, updateCount: 1, timeout: undefined });
  });

  suite.rule('leaves nothing to removeRecord', async (s) => {
    await s.write('k', [set('x', '1')], { timeout: 10n * SECOND });
    s.wait(10);
    const result = await s.write('k', [removeRecord()]);
    assert.deepEqual([result.existed, result.revision], [false, 0]);
  });

  suite.rule('of the longest duration never comes', async (s) => {
    await s.write('k', [set('x', '1')], { timeout: INT64_MAX });
    s.wait(1_000_000);
    assert.equal(await s.value('k', 'x'), '1');
  });
}

function choosing(suite: Suite): void {
  suite.rule(
    'that a commit brings is for the record that it creates, not for one that is there',
    async (s) => {
      await s.write('k', [set('x', '1')], { timeout: 10n * SECOND });
      await s.write('k', [set('x', '1')], { timeout: 99n * SECOND });
      assert.equal((await s.load('k')).facts?.timeout, 10n * SECOND);
      await s.write('l', [set('x', '1')]);
      await s.write('l', [set('x', '1')], { timeout: 10n * SECOND });
      assert.equal((await s.load('l')).facts?.timeout, undefined);
    },
  );

  suite.rule('is set, moved and ended by its mutation', async (s) => {
    await s.write('k', [set('x', '1')]);
    await s.write('k', [timeout(10n * SECOND)]);
    assert.equal((await s.load('k')).facts?.timeout, 10n * SECOND);
    await s.write('k', [timeout(20n * SECOND)]);
    s.wait(19);
    assert.equal(await s.value('k', 'x'), '1');
    await s.write('k', [timeout(undefined)]);
    s.wait(1_000_000);
    assert.equal(await s.value('k', 'x'), '1');
  });

  suite.rule('by its mutation wins over the one that the commit brings', async (s) => {
    await s.write('k', [timeout(20n * SECOND), set('x', '1')], { timeout: 10n * SECOND });
    assert.equal((await s.load('k')).facts?.timeout, 20n * SECOND);
  });

  suite.rule('of a record begun after removeRecord is the one that the commit brings', async (s) => {
    await s.write('k', [set('x', '1')], { timeout: 10n * SECOND });
    await s.write('k', [removeRecord(), set('x', '1')], { timeout: 20n * SECOND });
    assert.equal((await s.load('k')).facts?.timeout, 20n * SECOND);
    await s.write('k', [removeRecord(), set('x', '1')]);
    assert.equal((await s.load('k')).facts?.timeout, undefined);
  });
}
