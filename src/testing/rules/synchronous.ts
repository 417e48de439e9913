import assert from 'node:assert/strict';
import type { Counted, CounterWrite } from '../../contract/backend.js';
import { INT64_MAX, SECOND } from '../../contract/clock.js';
import { record, rejects, type Session } from '../session.js';
import { add, bytes, expireIfNone, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** What `commitSync` and `countSync` do at once: nothing that `commit` would not do. */
export function synchronousCommits(suite: Suite): void {
  if (!suite.has('synchronous_commit')) return;
  suite.area('synchronous commits', () => {
    suite.rule('are there for the next load when they return', async (s) => {
      const write = { record: record('k'), expect: suite.forAbsent, mutations: [set('x', '1')] };
      const [result] = s.commitSync([write]);
      assert.equal(result?.existed, false);
      assert.deepEqual([...(result?.values ?? [])], [['x', { value: '1', deadline: undefined }]]);
      const { revision, variables } = await s.load('k');
      assert.equal(result?.revision, revision);
      assert.equal(variables.get(bytes('x'))?.value, '1');
    });

    suite.rule('throw what commit rejects with, and leave no trace', async (s) => {
      await s.write('k', [set('n', String(INT64_MAX))]);
      const before = await s.load('k', true);
      const { revision } = before;
      const write = { record: record('k'), expect: revision, mutations: [set('x', '1'), add('n', 1n)] };
      await rejects(async () => s.commitSync([write]), 'capacity_exceeded');
      if (suite.has('optimistic_revisions')) {
        const stale = { record: record('k'), expect: 'absent' as const, mutations: [set('x', '1')] };
        await rejects(async () => s.commitSync([stale]), 'conflict');
      }
      assert.deepEqual(await s.load('k', true), before);
    });

    if (suite.has('hard_deadlines')) {
      suite.rule('throw timeout where their deadline is over', async (s) => {
        const write = { record: record('k'), expect: suite.forAbsent, mutations: [set('x', '1')] };
        await rejects(async () => s.commitSync([write], s.now), 'timeout');
        assert.equal(await s.revision('k'), 0);
      });
    }

    if (suite.has('server_side_rebase')) counting(suite);
  });
}

/** Each rule holds for an engine without `countSync`, too: then it has nothing to show. */
function counting(suite: Suite): void {
  suite.rule('count as add, and expire where there is no deadline yet, would', async (s) => {
    if (s.backend.countSync === undefined) return;
    for (const { seconds, delta } of [
      { seconds: 0, delta: 2n },
      { seconds: 4, delta: -3n },
      { seconds: 7, delta: 5n },
      { seconds: 0, delta: 1n },
    ]) {
      s.wait(seconds);
      const deadline = s.in(10);
      const counted = s.countSync(counter('counted', delta, deadline, 60n * SECOND));
      await s.write('written', [add('n', delta), expireIfNone('n', deadline)], { timeout: 60n * SECOND });
      assert.deepEqual(counted, await countOf(s, 'written'));
      assert.deepEqual(contents(await s.load('counted', true)), contents(await s.load('written', true)));
    }
  });

  suite.rule('count without a deadline', async (s) => {
    if (s.backend.countSync === undefined) return;
    assert.deepEqual(s.countSync(counter('k', 5n, undefined)), { value: 5n, deadline: undefined });
    assert.deepEqual(s.countSync(counter('k', -7n, undefined)), { value: -2n, deadline: undefined });
    await s.write('k', [set('n', '12x')]);
    assert.deepEqual(s.countSync(counter('k', 1n, s.in(5))), { value: 13n, deadline: s.in(5) });
  });

  suite.rule('count to nothing visible where the deadline is over', async (s) => {
    if (s.backend.countSync === undefined) return;
    assert.equal(s.countSync(counter('k', 1n, s.now)), undefined);
    assert.deepEqual(await s.values('k'), {});
  });

  suite.rule('refuse to count what a commit refuses', async (s) => {
    if (s.backend.countSync === undefined) return;
    s.countSync(counter('k', INT64_MAX, undefined));
    const before = await s.load('k', true);
    await rejects(async () => s.countSync(counter('k', 1n, s.in(5))), 'capacity_exceeded');
    await rejects(async () => s.countSync(counter('', 1n, undefined)), 'invalid_key');
    await rejects(async () => s.countSync(counter('k', INT64_MAX + 1n, undefined)), 'invalid_mutation');
    await rejects(
      async () => s.countSync({ ...counter('k', 1n, undefined), name: bytes('N') }),
      'invalid_mutation',
    );
    s.limit({ mutations: 1 });
    await rejects(async () => s.countSync(counter('k', -1n, s.in(5))), 'capacity_exceeded');
    assert.deepEqual(await s.load('k', true), before);
  });
}

function counter(key: string, delta: bigint, deadline: bigint | undefined, timeout?: bigint): CounterWrite {
  return { record: record(key), timeout, name: bytes('n'), delta, deadline };
}

async function countOf(s: Session, key: string): Promise<Counted | undefined> {
  const variable = (await s.load(key)).variables.get(bytes('n'));
  return variable && { value: BigInt(variable.value ?? 0), deadline: variable.deadline };
}

/** All but the revision, which two records never share. */
function contents({ facts, variables }: Awaited<ReturnType<Session['load']>>): unknown {
  return { facts, variables };
}
