import type { BenchCase } from '../bench-case.js';
import type { Result } from '../report.js';
import type { RunContext } from '../run-context.js';
import { spread } from '../statistics.js';
import type { Subject } from '../subject.js';
import type { SubjectProcess } from '../subject-process.js';
import { memory } from '../subjects/wafstate-memory.js';
import { sharedMemory } from '../subjects/wafstate-shared-memory.js';

export const growth: BenchCase = {
  id: 'growth',
  title: 'The cost of a load as the table grows',
  chart: 'growth',
  grouped: true,
  unit: 'ns per load',
  describe: ({ tableSizes }) =>
    `Synchronous loads of random records, one counter each, from tables of ${tableSizes.map((size) => size.toLocaleString('en')).join(', ')} records. ` +
    'The smallest table is measured again in turn with every larger one. The TypeScript engine stops earlier.',
  run: async (context) => [
    ...(await grow(context, sharedMemory, context.scale.tableSizes)),
    ...(await grow(
      context,
      memory,
      context.scale.tableSizes.filter((size) => size <= context.scale.typescriptTableMost),
    )),
  ],
};

async function grow(context: RunContext, subject: Subject, sizes: readonly number[]): Promise<Result[]> {
  const [smallest = 0, ...larger] = sizes;
  const small = await context.start(subject);
  if (small === undefined) return [];
  const large = await context.start(subject);
  const costs = new Map<number, number[]>(sizes.map((size) => [size, []]));
  try {
    await small.call('fill', { operation: 'counter', from: 0, to: smallest });
    let filled = 0;
    for (const size of larger) {
      context.say(`${subject.title}, filling up to ${size.toLocaleString('en')} records`);
      await large?.call('fill', { operation: 'counter', from: filled, to: size });
      filled = size;
      for (let round = 0; round <= context.scale.rounds; round++) {
        const inSmall = await loadCost(small, smallest, context.scale.loadsPerRound);
        const inLarge = await loadCost(large as SubjectProcess, size, context.scale.loadsPerRound);
        if (round === 0) continue;
        costs.get(smallest)?.push(inSmall);
        costs.get(size)?.push(inLarge);
      }
    }
  } finally {
    await small.close();
    await large?.close();
  }
  return sizes.map((size) => ({
    subject: subject.id,
    title: subject.title,
    role: subject.role,
    setting: `${size.toLocaleString('en')} records`,
    at: size,
    figure: spread(costs.get(size) ?? []),
  }));
}

async function loadCost(process: SubjectProcess, count: number, operations: number): Promise<number> {
  const keys = { kind: 'drawn', count, operations } as const;
  const load = { operation: 'load', keys, callers: 1, milliseconds: 60_000 } as const;
  const sample = await process.call('closedLoop', load);
  return (sample.seconds * 1e9) / sample.operations;
}
