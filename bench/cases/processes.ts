import type { BenchCase } from '../bench-case.js';
import type { Sample } from '../load/closed-loop.js';
import type { Result } from '../report.js';
import type { RunContext } from '../run-context.js';
import { spread } from '../statistics.js';
import type { Durability } from '../subject.js';
import type { SubjectProcess } from '../subject-process.js';
import { lmdbNative } from '../subjects/wafstate-lmdb.js';
import { KEYS, uniform } from './key-sets.js';

const WRITERS = 4;
const LOAD = { operation: 'commit', keys: uniform, callers: 1000 } as const;

export function processesSetting(durability: Durability, writers: number): string {
  return `${durability}, ${writers} ${writers === 1 ? 'process' : 'processes'}`;
}

export const processes: BenchCase = {
  id: 'processes',
  title: 'Several processes on one state',
  chart: 'rates',
  describe: () =>
    `${WRITERS} processes that write to one LMDB environment, each with 1,000 commits in flight on the same ${KEYS.toLocaleString('en')} records, ` +
    'together, and one of them alone, in turn. In the end the counters are added up: every acknowledged commit must be there, once.',
  run: async (context) => {
    const results: Result[] = [];
    for (const durability of ['durable', 'relaxed'] as const) {
      results.push(...(await measure(context, durability)));
    }
    return results;
  },
};

async function measure(context: RunContext, durability: Durability): Promise<Result[]> {
  const { rounds, roundMs, warmupMs } = context.scale;
  const directory = context.directory();
  const writers: SubjectProcess[] = [];
  const together: number[] = [];
  const alone: number[] = [];
  let acknowledged = KEYS;
  let found = 0;
  try {
    for (let i = 0; i < WRITERS; i++) {
      const writer = await context.start(lmdbNative, { directory, durability });
      if (writer === undefined) return [];
      writers.push(writer);
    }
    const first = writers[0] as SubjectProcess;
    await first.call('prepare', LOAD);
    const load = (milliseconds: number, some: readonly SubjectProcess[]): Promise<Sample[]> =>
      Promise.all(some.map((writer) => writer.call('closedLoop', { ...LOAD, milliseconds })));
    for (let round = 0; round <= rounds; round++) {
      context.say(`${durability}, round ${round} of ${rounds}`);
      const milliseconds = round === 0 ? warmupMs : roundMs;
      const all = await load(milliseconds, writers);
      const one = await load(milliseconds, [first]);
      for (const sample of [...all, ...one]) acknowledged += sample.acknowledged;
      if (round === 0) continue;
      together.push(rate(all));
      alone.push(rate(one));
    }
    found = await first.call('total', { count: KEYS });
  } finally {
    for (const writer of writers) await writer.close();
  }
  const lost = acknowledged - found;
  const note =
    lost === 0
      ? `all ${acknowledged.toLocaleString('en')} acknowledged updates found`
      : `WRONG: ${acknowledged.toLocaleString('en')} updates acknowledged, ${found.toLocaleString('en')} found`;
  const { id, title, role } = lmdbNative;
  return [
    { writers: WRITERS, rates: together },
    { writers: 1, rates: alone },
  ].map(({ writers: count, rates }) => ({
    subject: id,
    title,
    role,
    setting: processesSetting(durability, count),
    opsPerSecond: spread(rates),
    note,
  }));
}

function rate(samples: readonly Sample[]): number {
  return samples.reduce((sum, { operations, seconds }) => sum + operations / seconds, 0);
}
