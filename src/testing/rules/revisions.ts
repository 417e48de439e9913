import assert from 'node:assert/strict';
import { SECOND } from '../../contract/clock.js';
import { removeRecord, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** A revision names one state of one record, for ever. */
export function revisions(suite: Suite): void {
  suite.area('revisions', () => {
    suite.rule('are integers from 1 to 2^53-1', async (s) => {
      const { revision } = await s.write('k', [set('x', '1')]);
      assert.ok(Number.isSafeInteger(revision) && revision >= 1, `got ${revision}`);
    });

    suite.rule('of a commit are those that the next load gives', async (s) => {
      const { revision } = await s.write('k', [set('x', '1')]);
      assert.equal(await s.revision('k'), revision);
    });

    suite.rule('grow with every commit, also one that changes no value', async (s) => {
      let last = 0;
      for (let i = 0; i < 20; i++) {
        const { revision } = await s.write('k', i % 3 === 0 ? [] : [set('x', '1')]);
        assert.ok(revision > last, `${revision} after ${last}`);
        last = revision;
      }
    });

    suite.rule('are not used again after the record was removed and made anew', async (s) => {
      let last = 0;
      for (let i = 0; i < 10; i++) {
        const { revision } = await s.write('k', [set('x', '1')]);
        assert.ok(revision > last, `${revision} after ${last}`);
        last = revision;
        assert.equal((await s.write('k', [removeRecord()])).revision, 0);
      }
    });

    if (suite.has('server_side_rebase'))
      suite.rule('are not used again after the record came and went in one go', async (s) => {
        let last = 0;
        for (let i = 0; i < 10; i++) {
          const [made] = await Promise.all([s.write('k', [set('x', '1')]), s.write('k', [removeRecord()])]);
          assert.ok(made.revision > last, `${made.revision} after ${last}`);
          last = (await s.write('k', [set('x', '1')])).revision;
          assert.ok(last > made.revision, `${last} after ${made.revision}`);
          await s.write('k', [removeRecord()]);
        }
      });

    suite.rule('are not used again after the record was timed out and made anew', async (s) => {
      const first = await s.write('k', [set('x', '1')], { timeout: SECOND });
      s.wait(1);
      const second = await s.write('k', [set('x', '1')], { timeout: SECOND });
      assert.ok(second.revision > first.revision);
    });

    suite.rule('stay as they are when a commit is refused', async (s) => {
      const { revision } = await s.write('k', [set('x', '1')]);
      await assert.rejects(s.write('k', [set('', '1')]));
      assert.equal(await s.revision('k'), revision);
    });

    suite.rule('do not depend on the now that commits name', async (s) => {
      s.wait(1_000_000_000);
      const first = await s.write('k', [set('x', '1')]);
      s.wait(-1_000_000_000);
      const second = await s.write('k', [set('x', '1')]);
      assert.ok(second.revision > first.revision);
    });
  });
}
