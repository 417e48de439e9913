import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../../../src/backend/lmdb/group-commit.js';
import type { ByteString } from '../../../src/contract/bytes.js';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.js';
import { ManualWriter } from './manual-writer.js';

/**
 * Group commit under any schedule of callers and writer: a commit that arrives between two looks at what waits must leave all
 * the same, and nothing may wait for a commit that never comes.
 */

const NAME = 'n' as ByteString;
const RECORD = { space: 1, applicationId: '' as ByteString, key: 'k' as ByteString };
const NOW = 1_000_000_000_000n;

/** How long a caller thinks before it asks again: so many microtasks, ends of a tick, turns of the loop. */
type Pause = readonly ['microtask' | 'tick' | 'turn', number];

const pause: fc.Arbitrary<Pause> = fc.tuple(
  fc.constantFrom('microtask' as const, 'tick' as const, 'turn' as const),
  fc.nat({ max: 6 }),
);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function think([kind, times]: Pause): Promise<void> {
  for (let i = 0; i < times; i++) {
    if (kind === 'microtask') await undefined;
    else if (kind === 'tick') await new Promise<void>((resolve) => process.nextTick(resolve));
    else await turn();
  }
}

interface Load {
  readonly sliceRequests: number;
  /** The pauses of each caller, each before a commit of its own. */
  readonly callers: readonly (readonly Pause[])[];
  /** Turns of the loop that the writer takes for a batch, over and over. */
  readonly writer: readonly number[];
}

/** Returns the counts that the callers heard. A lost wake-up ends it with the callers that still wait. */
async function run({ sliceRequests, callers, writer }: Load): Promise<string[]> {
  const manual = new ManualWriter();
  const commits = new GroupCommit({
    queueRequests: 1000,
    queueBytes: 1e6,
    sliceRequests,
    execute: manual.execute,
    explain: (refusal) => refusal,
  });
  const heard: string[] = [];
  let left = callers.length;
  const call = async (pauses: readonly Pause[]): Promise<void> => {
    for (const each of pauses) {
      // Not even the microtask of an await: the tightest is a commit within the one that heard the answer.
      if (each[1] > 0) await think(each);
      const [result] = await commits.commit(
        [{ record: RECORD, expect: 'any', mutations: [{ type: 'add', name: NAME, delta: 1n }] }],
        { now: NOW, limits: DEFAULT_LIMITS },
      );
      heard.push(result?.values.get(NAME)?.value ?? 'nothing');
    }
    left--;
  };
  const done = callers.map(call);
  // More turns than the longest thought, and nobody is at work: then nobody ever will be.
  for (let idle = 0, batch = 0; left > 0 && idle < 10; ) {
    await turn();
    if (!manual.busy) {
      idle++;
      continue;
    }
    idle = 0;
    for (let i = writer[batch++ % writer.length] as number; i > 0; i--) await turn();
    manual.apply();
  }
  expect(`${left} callers wait, ${commits.requests} commits`).toBe('0 callers wait, 0 commits');
  await Promise.all(done);
  await commits.drain();
  return heard;
}

describe('group commit', () => {
  it('answers every commit once, in order, under any schedule', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          sliceRequests: fc.integer({ min: 1, max: 6 }),
          callers: fc.array(fc.array(pause, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 12 }),
          writer: fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 4 }),
        }),
        async (load) => {
          const commits = load.callers.flat().length;
          expect(await run(load)).toEqual(Array.from({ length: commits }, (_, i) => String(i + 1)));
        },
      ),
      { numRuns: 300, seed: 20260730 },
    );
  });

  it.each(Array.from({ length: 13 }, (_, hops) => hops))(
    'sends what a lone caller asks for %i microtasks after its answer',
    async (hops) => {
      const again = Array.from({ length: 5 }, (): Pause => ['microtask', hops]);
      expect(await run({ sliceRequests: 1, callers: [again], writer: [0] })).toHaveLength(5);
      expect(await run({ sliceRequests: 1, callers: [again, again], writer: [0] })).toHaveLength(10);
    },
  );
});
