import assert from 'node:assert/strict';
import type { CleanupResult } from '../../contract/backend.js';
import { SECOND } from '../../contract/clock.js';
import type { Session } from '../session.js';
import { add, expire, remove, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** `cleanup` frees what has ended, in bounded steps that always get on. Needs `bounded_cleanup`. */
export function cleanup(suite: Suite): void {
  if (!suite.has('bounded_cleanup')) return;
  suite.area('cleanup', () => {
    removal(suite);
    progress(suite);
    if (suite.has('per_variable_expiry')) expired(suite);
  });
}

function removal(suite: Suite): void {
  suite.rule('of an empty engine does nothing and is at the end', async (s) => {
    const result = await s.backend.cleanup(s.now, { records: 10, variables: 10 });
    assert.deepEqual(result, { recordsExamined: 0, recordsRemoved: 0, variablesRemoved: 0, wrapped: true });
  });

  suite.rule('removes timed-out records', async (s) => {
    await s.write('dead', [set('x', '1')], { timeout: 10n * SECOND });
    await s.write('live', [set('x', '1')], { timeout: 11n * SECOND });
    s.wait(10);
    assert.equal((await s.cleanAll()).records, 1);
    s.wait(-10);
    assert.equal(await s.revision('dead'), 0);
    assert.notEqual(await s.revision('live'), 0);
  });

  suite.rule('removes records without variables', async (s) => {
    await s.write('empty', []);
    await s.write('emptied', [set('x', '1')]);
    await s.write('emptied', [remove('x')]);
    await s.write('full', [set('x', '1')]);
    assert.equal((await s.cleanAll()).records, 2);
    assert.equal(await s.revision('empty'), 0);
    assert.equal(await s.revision('emptied'), 0);
    assert.equal(await s.value('full', 'x'), '1');
  });

  suite.rule('leaves everything else as it is, revision and facts included', async (s) => {
    await s.write('k', [set('x', '1'), set('y', 'text')], { timeout: 60n * SECOND });
    const before = await s.load('k', true);
    s.wait(10);
    await s.cleanAll();
    assert.deepEqual(await s.load('k', true), before);
  });
}

function progress(suite: Suite): void {
  const budget = { records: 3, variables: 1_000_000 };

  suite.rule('looks at no more records than its budget', async (s) => {
    await fill(s, 10);
    for (let i = 0; i < 8; i++) {
      const { recordsExamined } = await s.backend.cleanup(s.now, budget);
      assert.ok(recordsExamined <= 3, `looked at ${recordsExamined}`);
    }
  });

  suite.rule('looks at no more variables than its budget, yet always at one record', async (s) => {
    for (let i = 0; i < 4; i++) {
      await s.write(`k${i}`, [set('a', '1'), set('b', '1'), set('c', '1')]);
    }
    for (const [variables, most] of [
      [1, 1],
      [5, 1],
      [6, 2],
    ] as const) {
      for (let i = 0; i < 6; i++) {
        const { recordsExamined, wrapped } = await s.backend.cleanup(s.now, { records: 100, variables });
        assert.ok(recordsExamined <= most, `looked at ${recordsExamined} records of 3 with ${variables}`);
        assert.ok(recordsExamined > 0 || wrapped, 'looked at nothing');
      }
    }
  });

  suite.rule('resumes where it stopped and starts over at the end', async (s) => {
    await fill(s, 10);
    for (let pass = 0; pass < 3; pass++) {
      let examined = 0;
      let result: CleanupResult;
      let calls = 0;
      do {
        result = await s.backend.cleanup(s.now, budget);
        examined += result.recordsExamined;
        assert.ok(++calls <= 20, 'a pass over 10 records by threes does not end');
      } while (!result.wrapped);
      // An engine that finds by deadline what has ended need not look at the others.
      assert.ok(examined <= 10, `looked at ${examined} of 10 records`);
    }
  });

  suite.rule('comes to every record, though most are live and the budget is one', async (s) => {
    for (let i = 0; i < 20; i++) {
      await s.write(
        `k${String(i).padStart(2, '0')}`,
        [set('x', '1')],
        i % 7 === 6 ? { timeout: SECOND } : {},
      );
    }
    s.wait(1);
    let removed = 0;
    for (let i = 0; i < 44; i++) {
      removed += (await s.backend.cleanup(s.now, { records: 1, variables: 1 })).recordsRemoved;
    }
    assert.equal(removed, 2);
  });

  suite.rule('starves no record while others come and go', async (s) => {
    for (const key of ['a', 'm', 'z']) await s.write(`${key}-dead`, [set('x', '1')], { timeout: SECOND });
    for (let i = 0; i < 10; i++) await s.write(`m-live${i}`, [set('x', '1')]);
    s.wait(1);
    let removed = 0;
    for (let round = 0; removed < 3; round++) {
      assert.ok(round < 100, `${removed} of 3 timed-out records were removed in 100 rounds`);
      await s.write(`a-new${round}`, [set('x', '1')]);
      await s.write(`z-new${round}`, [set('x', '1')]);
      removed += (await s.backend.cleanup(s.now, { records: 4, variables: 100 })).recordsRemoved;
    }
  });

  suite.rule('goes on where the record at which it stopped is gone', async (s) => {
    await fill(s, 6);
    await s.backend.cleanup(s.now, budget);
    s.wait(100);
    await s.cleanAll();
    assert.deepEqual(await s.cleanAll(), { records: 0, variables: 0 });
    await fill(s, 6);
    s.wait(100);
    assert.equal((await s.cleanAll(1)).records, 6);
  });
}

function expired(suite: Suite): void {
  suite.rule('removes expired variables, and gives the record a new revision', async (s) => {
    const { revision } = await s.write('k', [set('a', '1'), set('b', '2'), expire('a', s.in(10))]);
    s.wait(10);
    assert.deepEqual(await s.cleanAll(), { records: 0, variables: 1 });
    assert.deepEqual(await s.values('k', true), { b: '2' });
    assert.ok((await s.revision('k')) > revision);
  });

  suite.rule('removes pending deadlines that have passed, and keeps those that have not', async (s) => {
    await s.write('k', [expire('a', s.in(10)), expire('b', s.in(60))]);
    s.wait(10);
    assert.deepEqual(await s.cleanAll(), { records: 0, variables: 1 });
    assert.deepEqual(await s.values('k', true), { b: undefined });
  });

  suite.rule('removes a record whose last variable has expired', async (s) => {
    await s.write('k', [set('a', '1'), expire('a', s.in(10))]);
    s.wait(10);
    assert.deepEqual(await s.cleanAll(), { records: 1, variables: 1 });
    assert.equal(await s.revision('k'), 0);
  });

  suite.rule('does not count as an update: neither facts nor timeout are renewed', async (s) => {
    await s.write('k', [set('a', '1'), set('b', '2'), expire('a', s.in(5))], { timeout: 10n * SECOND });
    const { facts } = await s.load('k');
    s.wait(5);
    await s.cleanAll();
    assert.deepEqual((await s.load('k')).facts, facts);
    s.wait(5);
    assert.equal(await s.revision('k'), 0);
  });

  suite.rule('lets a counter that it has removed begin anew', async (s) => {
    await s.write('k', [add('n', 5n), expire('n', s.in(10))]);
    s.wait(10);
    await s.cleanAll();
    assert.equal((await s.write('k', [add('n', 1n)])).existed, false);
    assert.equal(await s.value('k', 'n'), '1');
  });

  if (suite.has('optimistic_revisions')) {
    suite.rule('is seen as a conflict by who has loaded the record before', async (s) => {
      const { revision } = await s.write('k', [set('a', '1'), set('b', '2'), expire('a', s.in(10))]);
      s.wait(10);
      await s.cleanAll();
      await assert.rejects(s.write('k', [set('b', '3')], { expect: revision }));
      assert.equal(await s.value('k', 'b'), '2');
    });
  }
}

/** Records of one variable that are timed out 100 seconds later. */
async function fill(s: Session, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await s.write(`k${i}`, [set('x', '1')], { timeout: 100n * SECOND });
}
