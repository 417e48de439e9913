import assert from 'node:assert/strict';
import { SECOND } from '../../contract/clock.js';
import { expire, remove, removeRecord, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** What `load` gives: the visible variables and the record's facts, as of the newest acknowledged commit. */
export function loading(suite: Suite): void {
  suite.area('loading', () => {
    suite.rule('gives revision 0, no facts and no variables for an absent record', async (s) => {
      const snapshot = await s.load('nobody');
      assert.equal(snapshot.revision, 0);
      assert.equal(snapshot.facts, undefined);
      assert.equal(snapshot.variables.size, 0);
    });

    suite.rule('does not make the record that it asks for', async (s) => {
      await s.load('nobody');
      assert.equal((await s.write('nobody', [set('x', '1')])).existed, false);
    });

    suite.rule(
      'gives the variables in byte order of their names, whatever the order of writing',
      async (s) => {
        await s.write('k', [set('b', '1'), set('ab', '2'), set('\xff', '3'), set('a', '4'), set('a-', '5')]);
        await s.write('k', [remove('b'), set('aa', '6'), set('\0', '7')]);
        assert.deepEqual([...(await s.load('k')).variables.keys()], ['\0', 'a', 'a-', 'aa', 'ab', '\xff']);
        await s.write('k', [remove('ab'), set('a!', '8')]);
        assert.deepEqual([...(await s.load('k')).variables.keys()], ['\0', 'a', 'a!', 'a-', 'aa', '\xff']);
      },
    );

    suite.rule('sees an acknowledged commit at once', async (s) => {
      for (let i = 1; i <= 20; i++) {
        await s.write('k', [set('n', String(i))]);
        assert.equal(await s.value('k', 'n'), String(i));
      }
    });

    suite.rule('gives created, updated and the update count', async (s) => {
      const created = s.now;
      await s.write('k', [set('x', '1')]);
      s.wait(5);
      await s.write('k', [set('x', '2')]);
      s.wait(5);
      const { facts } = await s.load('k');
      assert.deepEqual(facts, {
        created,
        updated: created + 5n * SECOND,
        updateCount: 2,
        timeout: undefined,
      });
    });

    suite.rule('never sees updated go back, though a commit comes with an earlier now', async (s) => {
      await s.write('k', [set('x', '1')]);
      const updated = s.now;
      s.wait(-5);
      await s.write('k', [set('x', '2')]);
      assert.deepEqual((await s.load('k')).facts, {
        created: updated,
        updated,
        updateCount: 2,
        timeout: undefined,
      });
    });

    suite.rule('counts a commit without mutations as an update', async (s) => {
      await s.write('k', []);
      await s.write('k', []);
      const { facts, revision } = await s.load('k');
      assert.equal(facts?.updateCount, 2);
      assert.ok(revision > 0);
    });

    suite.rule('gives a snapshot that later commits do not change', async (s) => {
      await s.write('k', [set('x', 'old')]);
      const before = await s.loadToKeep('k');
      await s.write('k', [set('x', 'new'), set('y', '1')]);
      await s.write('k', [removeRecord()]);
      const values = [...before.variables].map(([name, { value }]) => [name, value]);
      assert.deepEqual(values, [['x', 'old']]);
      assert.equal(before.facts?.updateCount, 1);
    });

    suite.rule('tells the same to several readers at once', async (s) => {
      await s.write('k', [set('x', '1')]);
      const snapshots = await Promise.all(Array.from({ length: 10 }, () => s.load('k')));
      for (const snapshot of snapshots) assert.deepEqual(snapshot, snapshots[0]);
    });

    if (suite.has('synchronous_load')) {
      suite.rule('gives by loadSync what it gives by load', async (s) => {
        await s.write('k', [set('x', '1'), set('y', 'text')], { timeout: 60n * SECOND });
        assert.deepEqual(s.loadSync('k'), await s.load('k'));
        assert.deepEqual(s.loadSync('k', true), await s.load('k', true));
        assert.deepEqual(s.loadSync('nobody'), await s.load('nobody'));
        s.wait(60);
        assert.equal(s.loadSync('k').revision, 0);
      });

      suite.rule('sees by loadSync an acknowledged commit at once', async (s) => {
        for (let i = 1; i <= 20; i++) {
          await s.write('k', [set('n', String(i))]);
          assert.equal([...s.loadSync('k').variables.values()][0]?.value, String(i));
        }
      });
    }

    if (suite.has('per_variable_expiry')) {
      suite.rule('leaves out what is expired or only a deadline, unless hidden is asked for', async (s) => {
        const mutations = [
          set('live', '1'),
          set('dying', '2'),
          expire('dying', s.in(10)),
          expire('wait', s.in(60)),
        ];
        await s.write('k', mutations);
        s.wait(10);
        assert.deepEqual(await s.values('k'), { live: '1' });
        assert.deepEqual(await s.values('k', true), { dying: '2', live: '1', wait: undefined });
      });
    }
  });
}
