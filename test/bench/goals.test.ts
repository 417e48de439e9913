import { describe, expect, it } from 'vitest';
import { judgeGoals, RATIOS } from '../../bench/goals.js';
import type { CaseReport } from '../../bench/report.js';
import { rate, reportCase, valued } from './fixture.js';

function goal(name: string, cases: readonly CaseReport[]) {
  return judgeGoals(cases).find((each) => each.name === name);
}

function commits(
  native: number,
  single: number,
  limit?: readonly [batched: number, single: number],
): CaseReport {
  return reportCase('durable_commits', [
    rate('lmdb-native', '1,000 in flight', native),
    rate('transaction-per-commit', '1 caller', single, 'other'),
    ...(limit === undefined
      ? []
      : [
          rate('limit', 'batches of 1,000', limit[0], 'bound'),
          rate('limit', 'one transaction each', limit[1], 'bound'),
        ]),
  ]);
}

describe('goals', () => {
  it('has every ratio by its name, once', () => {
    const names = RATIOS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toEqual(
      expect.arrayContaining(
        [
          'group_commit',
          'limit_durable',
          'limit_relaxed',
          'hot_key',
          'native_apply_1',
          'native_apply_16',
        ].concat(
          ['native_apply_64', 'request_memory', 'counter_memory', 'redis_durable', 'redis_relaxed'],
          ['main_thread', 'bytes', 'pause', 'growth', 'processes'],
        ),
      ),
    );
  });

  it('has no value and no verdict for what was not measured', () => {
    expect(judgeGoals([]).every(({ value, met }) => value === null && met === null)).toBe(true);
    expect(
      goal('redis_durable', [reportCase('redis', [rate('lmdb-native', 'durable, 64 callers', 9)])]),
    ).toMatchObject({
      value: null,
      met: null,
    });
  });

  it('passes a ratio that is to be at least its goal on the goal, not below', () => {
    expect(goal('group_commit', [commits(150_000, 1000)])).toMatchObject({ value: 150, met: true });
    expect(goal('group_commit', [commits(149_000, 1000)])).toMatchObject({ value: 149, met: false });
  });

  it('passes a ratio that is to be at most its goal on the goal, not above', () => {
    const cases = (own: number) => [
      reportCase(
        'bytes',
        [valued('shared-memory', 'n', own), valued('rate-limiter-memory', 'n', 200, 'other')],
        {
          chart: 'figures',
        },
      ),
    ];
    expect(goal('bytes', cases(100))).toMatchObject({ value: 0.5, met: true });
    expect(goal('bytes', cases(102))).toMatchObject({ value: 0.51, met: false });
  });

  it('lowers the goal of group_commit to what C reaches, and says so, but never raises it', () => {
    const lowered = goal('group_commit', [commits(95_000, 1000, [100_000, 1000])]);
    expect(lowered).toMatchObject({ value: 95, goal: 90, met: true });
    expect(lowered?.note).toContain('100.0');
    expect(goal('group_commit', [commits(155_000, 1000, [900_000, 1000])])).toMatchObject({
      goal: 150,
      met: true,
    });
  });

  it('takes each side at its best of several settings', () => {
    const results = [
      rate('lmdb-native', 'durable, 64 callers', 10),
      rate('lmdb-native', 'durable, 1,000 callers', 100),
      rate('rate-limiter-redis', 'durable, 64 callers', 20, 'other'),
      rate('rate-limiter-redis', 'durable, 1,000 callers', 10, 'other'),
    ];
    expect(goal('redis_durable', [reportCase('redis', results)])).toMatchObject({ value: 5, met: true });
  });

  it('divides the largest table by the smallest', () => {
    const results = [10, 100, 1000].map((size, index) =>
      valued('shared-memory', `${size} records`, 100 * (index + 1)),
    );
    expect(goal('growth', [reportCase('growth', results, { chart: 'growth' })])).toMatchObject({
      value: 3,
      met: true,
    });
  });

  it('never passes where an update was lost', () => {
    const wrong = { note: 'WRONG: 5 updates acknowledged, 4 found' };
    const results = [
      { ...rate('lmdb-native', 'durable, 4 processes', 100), ...wrong },
      { ...rate('lmdb-native', 'durable, 1 process', 100), ...wrong },
    ];
    expect(goal('processes', [reportCase('processes', results)])).toMatchObject({
      value: 1,
      met: false,
      ...wrong,
    });
  });
});
