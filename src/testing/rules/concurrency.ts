import assert from 'node:assert/strict';
import { WafStateError } from '../../contract/errors.js';
import type { Session } from '../session.js';
import { add, bytes, set, subtract } from '../steps.js';
import type { Suite } from '../suite.js';

const WRITERS = 8;
const INCREMENTS = 25;

/** Commits that overlap: nothing is lost, nothing is counted twice. */
export function concurrency(suite: Suite): void {
  suite.area('concurrency', () => {
    if (suite.has('server_side_rebase')) {
      suite.rule("loses no increment of parallel commits with 'any'", async (s) => {
        const commits = Array.from({ length: WRITERS * INCREMENTS }, () =>
          s.write('k', [add('n', 1n)], { expect: 'any' }),
        );
        const results = await Promise.all(commits);
        assert.equal(await s.value('k', 'n'), String(WRITERS * INCREMENTS));
        const seen = results.map(({ values }) => Number(values.get(bytes('n'))?.value)).sort((a, b) => a - b);
        assert.deepEqual(
          seen,
          Array.from({ length: WRITERS * INCREMENTS }, (_, index) => index + 1),
        );
        assert.equal(new Set(results.map(({ revision }) => revision)).size, results.length);
        assert.equal(results.filter(({ existed }) => !existed).length, 1);
      });

      suite.rule('lets deltas of both signs on several records compose', async (s) => {
        const commits = [];
        for (let i = 0; i < 100; i++) {
          const step = i % 2 === 0 ? add('n', 3n) : subtract('n', 1n);
          commits.push(s.write(`k${i % 5}`, [step], { expect: 'any' }));
        }
        await Promise.all(commits);
        let sum = 0;
        for (let i = 0; i < 5; i++) sum += Number(await s.value(`k${i}`, 'n'));
        assert.equal(sum, 100);
      });

      suite.rule('keeps a refused commit from touching its neighbours', async (s) => {
        const commits = Array.from({ length: 60 }, (_, i) =>
          s.write(`k${i % 3}`, i % 10 === 9 ? [add('n', 1n), set('', '1')] : [add('n', 1n)], {
            expect: 'any',
          }),
        );
        const settled = await Promise.allSettled(commits);
        assert.equal(settled.filter(({ status }) => status === 'rejected').length, 6);
        let sum = 0;
        for (let i = 0; i < 3; i++) sum += Number(await s.value(`k${i}`, 'n'));
        assert.equal(sum, 54);
      });
    }

    if (suite.has('optimistic_revisions')) {
      suite.rule(
        'loses no increment of writers that load, expect the revision and retry on conflict',
        async (s) => {
          await Promise.all(Array.from({ length: WRITERS }, () => incrementOptimistically(s, INCREMENTS)));
          assert.equal(await s.value('k', 'n'), String(WRITERS * INCREMENTS));
          assert.equal((await s.load('k')).facts?.updateCount, WRITERS * INCREMENTS);
        },
      );

      suite.rule("lets exactly one of many that expect 'absent' win", async (s) => {
        const commits = Array.from({ length: 10 }, (_, i) =>
          s.write('k', [set('by', String(i))], { expect: 'absent' }),
        );
        const settled = await Promise.allSettled(commits);
        const winners = settled.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
        assert.equal(winners.length, 1);
        assert.equal(await s.value('k', 'by'), String(winners[0]));
      });
    }
  });
}

async function incrementOptimistically(s: Session, times: number): Promise<void> {
  for (let done = 0; done < times; ) {
    const { revision, variables } = await s.load('k');
    const next = Number(variables.get(bytes('n'))?.value ?? '0') + 1;
    try {
      await s.write('k', [set('n', String(next))], { expect: revision === 0 ? 'absent' : revision });
      done++;
    } catch (error) {
      assert.ok(error instanceof WafStateError && error.code === 'conflict', String(error));
    }
  }
}
