import { BATCH_1000, IN_FLIGHT, ONE_BY_ONE } from './cases/durable-commits.js';
import { hotSetting } from './cases/hot-key.js';
import { DEEP } from './cases/limit.js';
import { CALLERS, callersSetting } from './cases/memory-operations.js';
import { processesSetting } from './cases/processes.js';
import { applySetting, RECORD_SIZES } from './cases/record-apply.js';
import { REDIS_CALLERS, redisSetting } from './cases/redis.js';
import { RULED_CALLERS } from './cases/rules.js';
import type { CaseReport, Goal, Result } from './report.js';

/** The ratios of the report: what is divided by what, and the goal of each. */

/** Results of one case; where several settings are named, the best of them counts. */
interface Side {
  readonly in: string;
  readonly subject: string;
  /** `undefined`: the only result of the subject, or for `first` and `last` the ends of its line. */
  readonly settings?: readonly string[];
  readonly place?: 'first' | 'last';
}

interface Ratio {
  readonly name: string;
  readonly what: string;
  readonly direction: Goal['direction'];
  readonly goal: number;
  /** The figure that is compared: rates, or the case's own figure. */
  readonly quantity: 'rate' | 'figure';
  readonly over: Side;
  /** Absent: the figure itself is what is judged. */
  readonly under?: Side;
  /** A goal that what is possible on this machine may lower. */
  readonly bound?: { readonly over: Side; readonly under: Side; readonly share: number };
}

const NATIVE = 'lmdb-native';
const SHARED = 'shared-memory';
const PEER = 'rate-limiter-memory';
const MEMORY_CALLERS = CALLERS.map(callersSetting);

const durable = (subject: string, setting: string): Side => ({
  in: 'durable_commits',
  subject,
  settings: [setting],
});
const side = (inCase: string, subject: string, ...settings: string[]): Side => ({
  in: inCase,
  subject,
  ...(settings.length > 0 && { settings }),
});

export const RATIOS: readonly Ratio[] = [
  {
    name: 'group_commit',
    what: 'durable commits/s with 1,000 in flight ÷ one transaction per commit',
    direction: 'at least',
    goal: 150,
    quantity: 'rate',
    over: durable(NATIVE, IN_FLIGHT),
    under: durable('transaction-per-commit', callersSetting(1)),
    bound: { over: durable('limit', BATCH_1000), under: durable('limit', ONE_BY_ONE), share: 0.9 },
  },
  ...(['durable', 'relaxed'] as const).map((durability): Ratio => {
    const inCase = `limit_${durability}`;
    return {
      name: inCase,
      what: `${durability} commits/s with 4,000 in flight ÷ the C program in batches of 1,000`,
      direction: 'at least',
      goal: durability === 'durable' ? 0.75 : 0.5,
      quantity: 'rate',
      over: side(inCase, NATIVE, DEEP),
      under: side(inCase, 'limit', BATCH_1000),
    };
  }),
  ...(['durable', 'relaxed'] as const).map(
    (durability): Ratio => ({
      name: durability === 'durable' ? 'hot_key' : 'hot_key_relaxed',
      what: `${durability}: all commits on one key ÷ spread over 10,000 keys`,
      direction: 'at least',
      goal: durability === 'durable' ? 1.5 : 1,
      quantity: 'rate',
      over: side('hot_key', NATIVE, hotSetting(durability, 'one')),
      under: side('hot_key', NATIVE, hotSetting(durability, 'spread')),
    }),
  ),
  ...RECORD_SIZES.map(
    (variables): Ratio => ({
      name: `native_apply_${variables}`,
      what: `record apply, ${applySetting(variables, 'all')}: native ÷ TypeScript`,
      direction: 'at least',
      goal: variables === 1 ? 2 : 4,
      quantity: 'rate',
      over: side('record_apply', 'native', applySetting(variables, 'all')),
      under: side('record_apply', 'typescript', applySetting(variables, 'all')),
    }),
  ),
  ...RECORD_SIZES.map(
    (variables): Ratio => ({
      name: `typescript_json_${variables}`,
      what: `record apply, ${applySetting(variables, 'all')}: TypeScript ÷ JSON`,
      direction: 'at least',
      goal: 3,
      quantity: 'rate',
      over: side('record_apply', 'typescript', applySetting(variables, 'all')),
      under: side('record_apply', 'json', applySetting(variables, 'all')),
    }),
  ),
  {
    name: 'request_memory',
    what: 'requests/s on shared memory ÷ RateLimiterMemory.consume',
    direction: 'at least',
    goal: 0.5,
    quantity: 'rate',
    over: side('request_memory', SHARED, ...MEMORY_CALLERS),
    under: side('request_memory', PEER, ...MEMORY_CALLERS),
  },
  {
    name: 'counter_memory',
    what: 'counters/s on shared memory ÷ RateLimiterMemory.consume',
    direction: 'at least',
    goal: 2,
    quantity: 'rate',
    over: side('counter_memory', SHARED, ...MEMORY_CALLERS),
    under: side('counter_memory', PEER, ...MEMORY_CALLERS),
  },
  ...(['durable', 'relaxed'] as const).map((durability): Ratio => {
    const settings = REDIS_CALLERS.map((callers) => redisSetting(durability, callers));
    return {
      name: `redis_${durability}`,
      what: `${durability} counters/s on LMDB ÷ RateLimiterRedis, each at its best of 64 and 1,000 callers`,
      direction: 'at least',
      goal: durability === 'durable' ? 4 : 8,
      quantity: 'rate',
      over: side('redis', NATIVE, ...settings),
      under: side('redis', 'rate-limiter-redis', ...settings),
    };
  }),
  {
    name: 'main_thread',
    what: 'main-thread CPU per LMDB commit ÷ that of one of 1,000 promises settled by one pool.run of an equal buffer',
    direction: 'at most',
    goal: 3,
    quantity: 'figure',
    over: side('main_thread', NATIVE, IN_FLIGHT),
    under: side('main_thread', 'settled-promises', IN_FLIGHT),
  },
  {
    name: 'bytes',
    what: 'bytes per record of one counter with expiry: shared memory ÷ RateLimiterMemory',
    direction: 'at most',
    goal: 0.5,
    quantity: 'figure',
    over: side('bytes', SHARED),
    under: side('bytes', PEER),
  },
  {
    name: 'pause',
    what: 'event-loop delay p99.9 with live records under load: shared memory ÷ TypeScript memory',
    direction: 'at most',
    goal: 0.3,
    quantity: 'figure',
    over: side('pause', SHARED),
    under: side('pause', 'memory'),
  },
  {
    name: 'growth',
    what: 'cost per load in the largest table ÷ in the smallest, shared memory',
    direction: 'at most',
    goal: 3,
    quantity: 'figure',
    over: { in: 'growth', subject: SHARED, place: 'last' },
    under: { in: 'growth', subject: SHARED, place: 'first' },
  },
  ...(['durable', 'relaxed'] as const).map(
    (durability): Ratio => ({
      name: durability === 'durable' ? 'processes' : 'processes_relaxed',
      what: `${durability}: four processes writing ÷ one`,
      direction: 'at least',
      goal: 0.9,
      quantity: 'rate',
      over: side('processes', NATIVE, processesSetting(durability, 4)),
      under: side('processes', NATIVE, processesSetting(durability, 1)),
    }),
  ),
  {
    name: 'rules_main_thread',
    what: 'main-thread CPU of a request through twenty stateful rules on LMDB, µs',
    direction: 'at most',
    goal: 60,
    quantity: 'figure',
    over: side('rules_main_thread', NATIVE, callersSetting(RULED_CALLERS)),
  },
  {
    name: 'rules_memory',
    what: 'requests/s through twenty stateful rules in memory ÷ libmodsecurity',
    direction: 'at least',
    goal: 2,
    quantity: 'rate',
    over: side('rules_memory', SHARED),
    under: side('rules_memory', 'libmodsecurity'),
  },
];

/** Every ratio with its goal, from medians; null where a side was not measured. */
export function judgeGoals(cases: readonly CaseReport[]): Goal[] {
  return RATIOS.map(({ name, what, direction, goal: stated, quantity, over, under, bound }) => {
    const numerator = find(cases, over, quantity);
    const denominator = under && find(cases, under, quantity);
    const value = under === undefined ? numerator?.value : divide(numerator?.value, denominator?.value);
    const possible =
      bound && divide(find(cases, bound.over, quantity)?.value, find(cases, bound.under, quantity)?.value);
    const lowered = bound !== undefined && possible !== undefined && bound.share * possible < stated;
    const goal = lowered ? bound.share * possible : stated;
    const wrong = [numerator, denominator].find((each) => each?.result.note?.startsWith('WRONG'));
    const met =
      value === undefined
        ? null
        : wrong === undefined && (direction === 'at least' ? value >= goal : value <= goal);
    const note = lowered
      ? `the C program itself reaches ${possible.toFixed(1)}; the goal is ${bound.share} of that`
      : wrong?.result.note;
    return { name, what, direction, goal, value: value ?? null, met, ...(note !== undefined && { note }) };
  });
}

interface Found {
  readonly value: number;
  readonly result: Result;
}

function find(cases: readonly CaseReport[], where: Side, quantity: Ratio['quantity']): Found | undefined {
  const results = cases.find(({ id }) => id === where.in)?.results ?? [];
  const found = results
    .filter(
      ({ subject, setting }) => subject === where.subject && (where.settings?.includes(setting) ?? true),
    )
    .flatMap((result): Found[] => {
      const value = (quantity === 'rate' ? result.opsPerSecond : result.figure)?.median;
      return value === undefined ? [] : [{ value, result }];
    });
  if (where.place === 'first') return found[0];
  if (where.place === 'last') return found.length > 1 ? found.at(-1) : undefined;
  return found.sort((a, b) => (quantity === 'rate' ? b.value - a.value : a.value - b.value))[0];
}

function divide(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined || under <= 0 ? undefined : over / under;
}
