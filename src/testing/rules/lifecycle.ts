import assert from 'node:assert/strict';
import { rejects, rejectsKind } from '../session.js';
import { add, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** From open to closed, and what a commit's deadline does. */
export function lifecycle(suite: Suite): void {
  suite.area('lifecycle', () => {
    suite.rule('begins empty', async (s) => {
      assert.equal(await s.revision('k'), 0);
    });

    suite.rule('ends with every method rejecting as closed', async (s) => {
      await s.write('k', [set('x', '1')]);
      await s.backend.close();
      await rejects(() => s.load('k'), 'closed');
      await rejects(() => s.write('k', [set('x', '2')], { expect: suite.forAbsent }), 'closed');
      if (s.has('bounded_cleanup')) {
        await rejects(() => s.backend.cleanup(s.now, { records: 1, variables: 1 }), 'closed');
      }
      if (s.has('ordered_scan')) await rejects(() => s.scan(), 'closed');
      if (s.has('synchronous_commit')) await rejects(async () => s.commitSync([]), 'closed');
      if (s.has('synchronous_load')) await rejects(async () => s.loadSync('k'), 'closed');
    });

    suite.rule('may be closed twice, and at the same time', async (s) => {
      await Promise.all([s.backend.close(), s.backend.close()]);
      await s.backend.close();
    });

    suite.rule('settles what was accepted before close, as applied or as closed', async (s) => {
      const commits = Array.from({ length: 20 }, () =>
        s.write('k', [add('n', 1n)], { expect: suite.forAbsent }),
      );
      const closing = s.backend.close();
      const settled = await Promise.allSettled(commits);
      await closing;
      const codes = settled.map((each) => (each.status === 'fulfilled' ? 'applied' : each.reason.code));
      assert.deepEqual(
        codes.filter((code) => code !== 'applied' && code !== 'conflict' && code !== 'closed'),
        [],
      );
    });

    if (suite.has('hard_deadlines')) {
      suite.rule('lets a commit whose deadline is over reject as timeout, and not be applied', async (s) => {
        await s.write('k', [set('x', '1')]);
        for (const deadline of [s.now, s.in(-1)]) {
          const error = await rejects(() => s.write('k', [set('x', '2')], { deadline }), 'timeout');
          assert.equal(error.details.outcome, 'not_sent');
        }
        assert.equal(await s.value('k', 'x'), '1');
      });

      suite.rule('lets a commit be applied whose deadline is far', async (s) => {
        await s.write('k', [set('x', '1')], { deadline: s.in(600) });
        assert.equal(await s.value('k', 'x'), '1');
      });
    } else {
      suite.rule('without hard_deadlines refuses a deadline', async (s) => {
        await rejectsKind(() => s.write('k', [set('x', '1')], { deadline: s.in(600) }), 'invalid');
        assert.equal(await s.revision('k'), 0);
      });
    }
  });
}
