import assert from 'node:assert/strict';
import type { CommitResult, Expectation, RecordWrite } from '../../contract/backend.js';
import { INT64_MAX } from '../../contract/clock.js';
import type { Mutation } from '../../contract/mutation.js';
import { record, rejects } from '../session.js';
import { add, bytes, removeRecord, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** Several records in one commit: all or none. Needs `multi_record_atomicity`. */
export function multiRecord(suite: Suite): void {
  if (!suite.has('multi_record_atomicity')) return;
  const write = (
    key: string,
    mutations: readonly Mutation[],
    expect: Expectation = suite.forAbsent,
  ): RecordWrite => ({
    record: record(key),
    expect,
    mutations,
  });

  suite.area('several records in one commit', () => {
    suite.rule('are all published, with a result for each in order', async (s) => {
      const results = await s.commit([
        write('c', [set('x', '3')]),
        write('a', [set('x', '1')]),
        write('b', [set('x', '2'), set('y', '2')]),
      ]);
      assert.deepEqual(
        results.map(({ values }) => [...values].map(([name, value]) => [name, value?.value])),
        [
          [['x', '3']],
          [['x', '1']],
          [
            ['x', '2'],
            ['y', '2'],
          ],
        ],
      );
      for (const [index, key] of ['c', 'a', 'b'].entries()) {
        assert.equal(await s.revision(key), (results[index] as CommitResult).revision);
      }
    });

    suite.rule('may be of several collections and applications', async (s) => {
      const names = [record('k', 1), record('k', 2), record('k', 1, 'other'), record('k', 1, '')];
      await s.commit(
        names.map((name, index) => ({ ...write('k', [set('x', String(index))]), record: name })),
      );
      for (const [index, name] of names.entries()) assert.equal(await s.value(name, 'x'), String(index));
    });

    suite.rule('are none published where the last is refused', async (s) => {
      const bad = write('c', [set('x', String(INT64_MAX)), add('x', 1n)]);
      await rejects(
        () => s.commit([write('a', [set('x', '1')]), write('b', [set('x', '1')]), bad]),
        'capacity_exceeded',
      );
      for (const key of ['a', 'b', 'c']) assert.equal(await s.revision(key), 0);
    });

    suite.rule('are none published where the first is refused', async (s) => {
      const bad = write('a', [set('x', String(INT64_MAX)), add('x', 1n)]);
      await rejects(() => s.commit([bad, write('b', [set('x', '1')])]), 'capacity_exceeded');
      assert.equal(await s.revision('b'), 0);
    });

    suite.rule('are none removed where one is refused', async (s) => {
      const { revision } = await s.write('a', [set('x', '1')]);
      const expect = suite.has('optimistic_revisions') ? revision : suite.forAbsent;
      const bad = write('b', [set('x', String(INT64_MAX)), add('x', 1n)]);
      await assert.rejects(s.commit([write('a', [removeRecord()], expect), bad]));
      assert.equal(await s.revision('a'), revision);
    });

    suite.rule('may not stand twice in one commit', async (s) => {
      await rejects(
        () => s.commit([write('a', [add('x', 1n)]), write('a', [add('x', 1n)])]),
        'invalid_mutation',
      );
      assert.equal(await s.revision('a'), 0);
    });

    suite.rule('that are many are published in one piece', async (s) => {
      const writes = Array.from({ length: 64 }, (_, index) => write(`k${index}`, [add('x', BigInt(index))]));
      const results = await s.commit(writes);
      assert.equal(results.length, 64);
      for (const [index, { values }] of results.entries()) {
        assert.equal(values.get(bytes('x'))?.value, String(index));
      }
    });

    if (suite.has('optimistic_revisions')) {
      suite.rule('are none published where one conflicts, and the conflict names that one', async (s) => {
        const { revision } = await s.write(record('user', 3), [set('x', '1')]);
        const stale: RecordWrite = {
          record: record('user', 3),
          expect: 'absent',
          mutations: [set('x', '2')],
        };
        const error = await rejects(() => s.commit([write('a', [set('x', '1')]), stale]), 'conflict');
        assert.equal(error.details.space, 'user');
        assert.equal(error.details.actual, revision);
        assert.equal(await s.revision('a'), 0);
        assert.equal(await s.value(record('user', 3), 'x'), '1');
      });
    }
  });
}
