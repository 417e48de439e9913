import assert from 'node:assert/strict';
import { INT64_MAX, SECOND } from '../../contract/clock.js';
import type { Mutation } from '../../contract/mutation.js';
import { add, bytes, expire, remove, removeRecord, set, timeout } from '../steps.js';
import type { Suite } from '../suite.js';

/** Refused by its second step, whatever the record is. */
const OVERFLOW: readonly Mutation[] = [set('x', String(INT64_MAX)), add('x', 1n)];

/** One bad mutation, and nothing of its batch is published. Needs `atomic_batches`. */
export function atomicity(suite: Suite): void {
  if (!suite.has('atomic_batches')) return;
  suite.area('atomicity', () => {
    suite.rule('keeps a refused batch from making the record', async (s) => {
      await assert.rejects(s.write('k', [set('a', '1'), ...OVERFLOW]));
      assert.equal(await s.revision('k'), 0);
      assert.equal((await s.write('k', [set('b', '1')])).existed, false);
      assert.deepEqual(await s.values('k', true), { b: '1' });
    });

    suite.rule(
      'leaves values, deadlines, clocks and facts as they were when a batch is refused',
      async (s) => {
        await s.write('k', [set('a', '1'), set('b', '2'), set('c', '3')], { timeout: 60n * SECOND });
        const before = await s.load('k', true);
        s.wait(5);
        const steps = [set('a', '9'), remove('b'), set('new', '1'), timeout(5n * SECOND), ...OVERFLOW];
        await assert.rejects(s.write('k', steps));
        assert.deepEqual(await s.load('k', true), before);
      },
    );

    suite.rule('leaves the record when what follows its removal is refused', async (s) => {
      await s.write('k', [set('a', '1')]);
      const before = await s.load('k', true);
      await assert.rejects(s.write('k', [removeRecord(), ...OVERFLOW]));
      assert.deepEqual(await s.load('k', true), before);
    });

    suite.rule('does not renew the timeout by a refused batch', async (s) => {
      await s.write('k', [set('a', '1')], { timeout: 10n * SECOND });
      s.wait(9);
      await assert.rejects(s.write('k', OVERFLOW));
      s.wait(1);
      assert.equal(await s.revision('k'), 0);
    });

    suite.rule('shows a long batch whole or not at all', async (s) => {
      const batch = (value: string) => Array.from({ length: 50 }, (_, index) => set(`v${index}`, value));
      await s.write('k', batch('old'));
      const reading = Array.from({ length: 20 }, () => s.load('k'));
      const writing = s.write('k', batch('new'));
      for (const { variables } of await Promise.all([
        ...reading,
        ...Array.from({ length: 20 }, () => s.load('k')),
      ])) {
        assert.equal(new Set([...variables.values()].map(({ value }) => value)).size, 1);
      }
      await writing;
      assert.equal(await s.value('k', 'v49'), 'new');
    });

    if (suite.has('per_variable_expiry')) {
      suite.rule('leaves an expired variable to its fate when a batch is refused', async (s) => {
        await s.write('k', [set('a', '1'), expire('a', s.in(10))]);
        s.wait(10);
        await assert.rejects(s.write('k', [set('a', '2'), ...OVERFLOW]));
        assert.equal((await s.load('k', true)).variables.get(bytes('a'))?.value, '1');
        assert.deepEqual(await s.values('k'), {});
      });
    }
  });
}
