import assert from 'node:assert/strict';
import { SECOND } from '../../contract/clock.js';
import { rejects } from '../session.js';
import { add, removeRecord, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** What a commit expects of the record is honoured to the letter. Needs `optimistic_revisions`. */
export function conflicts(suite: Suite): void {
  if (!suite.has('optimistic_revisions')) return;
  suite.area('conflicts', () => {
    suite.rule('are none where the revision is the one expected', async (s) => {
      const first = await s.write('k', [set('x', '1')], { expect: 'absent' });
      const second = await s.write('k', [add('x', 1n)], { expect: first.revision });
      assert.equal((await s.write('k', [add('x', 1n)], { expect: second.revision })).existed, true);
      assert.equal(await s.value('k', 'x'), '3');
    });

    suite.rule('come where the record was changed meanwhile, and leave no trace', async (s) => {
      const first = await s.write('k', [set('x', '1')]);
      const second = await s.write('k', [set('x', '2')]);
      await rejects(() => s.write('k', [set('x', '3')], { expect: first.revision }), 'conflict');
      assert.equal(await s.value('k', 'x'), '2');
      assert.equal(await s.revision('k'), second.revision);
    });

    suite.rule("come where the record is there and 'absent' was expected", async (s) => {
      await s.write('k', [set('x', '1')]);
      await rejects(() => s.write('k', [set('x', '2')], { expect: 'absent' }), 'conflict');
      assert.equal(await s.value('k', 'x'), '1');
    });

    suite.rule('come where the record is absent and a revision was expected', async (s) => {
      await rejects(() => s.write('k', [set('x', '1')], { expect: 1 }), 'conflict');
      assert.equal(await s.revision('k'), 0);
    });

    suite.rule('come where a revision in the future was expected', async (s) => {
      const { revision } = await s.write('k', [set('x', '1')]);
      await rejects(() => s.write('k', [set('x', '2')], { expect: revision + 1 }), 'conflict');
    });

    suite.rule(
      'come where the record was removed and made anew: a revision is never met again',
      async (s) => {
        const first = await s.write('k', [set('x', '1')]);
        await s.write('k', [removeRecord()]);
        await rejects(() => s.write('k', [add('x', 1n)], { expect: first.revision }), 'conflict');
        await s.write('k', [set('x', '1')]);
        await rejects(() => s.write('k', [add('x', 1n)], { expect: first.revision }), 'conflict');
        assert.equal(await s.value('k', 'x'), '1');
      },
    );

    suite.rule('are retryable, and name the revision that is current and the one expected', async (s) => {
      const first = await s.write('k', [set('x', '1')]);
      const second = await s.write('k', [set('x', '2')]);
      const stale = await rejects(() => s.write('k', [], { expect: first.revision }), 'conflict');
      assert.equal(stale.retryable, true);
      assert.equal(stale.details.actual, second.revision);
      assert.equal(stale.details.limit, first.revision);
      assert.equal(stale.details.space, 'ip');
      const gone = await rejects(() => s.write('nobody', [], { expect: first.revision }), 'conflict');
      assert.equal(gone.details.actual, 0);
    });

    suite.rule("are none on a timed-out record with 'absent' nor with its old revision", async (s) => {
      for (const [key, old] of [
        ['a', false],
        ['b', true],
      ] as const) {
        const { revision } = await s.write(key, [set('x', '1')], { timeout: 10n * SECOND });
        s.wait(10);
        const result = await s.write(key, [set('y', '1')], { expect: old ? revision : 'absent' });
        assert.equal(result.existed, false);
        assert.ok(result.revision > revision);
        assert.deepEqual(await s.values(key, true), { y: '1' });
      }
    });

    suite.rule('come on a timed-out record with any other revision', async (s) => {
      const { revision } = await s.write('k', [set('x', '1')], { timeout: 10n * SECOND });
      s.wait(10);
      const error = await rejects(() => s.write('k', [], { expect: revision + 1 }), 'conflict');
      assert.equal(error.details.actual, 0);
    });

    suite.rule('come also where the batch would only remove the record', async (s) => {
      const first = await s.write('k', [set('x', '1')]);
      await s.write('k', [set('x', '2')]);
      await rejects(() => s.write('k', [removeRecord()], { expect: first.revision }), 'conflict');
      assert.equal(await s.value('k', 'x'), '2');
    });

    if (suite.has('server_side_rebase')) {
      suite.rule("are none with 'any', whatever the record is", async (s) => {
        assert.equal((await s.write('k', [add('x', 1n)], { expect: 'any' })).existed, false);
        assert.equal((await s.write('k', [add('x', 1n)], { expect: 'any' })).existed, true);
        await s.write('k', [removeRecord()], { expect: 'any' });
        assert.equal((await s.write('k', [add('x', 1n)], { expect: 'any' })).existed, false);
        assert.equal(await s.value('k', 'x'), '1');
      });
    }
  });
}
