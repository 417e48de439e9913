import { describe, expect, it } from 'vitest';
import { GroupCommit, type GroupCommitOptions } from '../../../src/backend/lmdb/group-commit.js';
import type { CommitResult, RecordWrite } from '../../../src/contract/backend.js';
import type { ByteString } from '../../../src/contract/bytes.js';
import { WafStateError } from '../../../src/contract/errors.js';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.js';
import type { Mutation } from '../../../src/contract/mutation.js';
import { ManualWriter } from './manual-writer.js';

const NOW = 1_000_000_000_000n;
const MILLISECOND = 1_000_000n;

function setUp(bounds: Partial<GroupCommitOptions> = {}): { writer: ManualWriter; commits: GroupCommit } {
  const writer = new ManualWriter();
  const commits = new GroupCommit({
    queueRequests: 100,
    queueBytes: 1e6,
    sliceRequests: 10,
    execute: writer.execute,
    explain: (refusal) => refusal,
    ...bounds,
  });
  return { writer, commits };
}

function write(key = 'k', value?: string): RecordWrite[] {
  const name = 'n' as ByteString;
  return [
    {
      record: { space: 1, applicationId: '' as ByteString, key: key as ByteString },
      expect: 'any',
      mutations: [
        value === undefined
          ? { type: 'add', name, delta: 1n }
          : { type: 'set', name, value: value as ByteString },
      ],
    },
  ];
}

function add(commits: GroupCommit, deadline?: bigint): Promise<readonly CommitResult[]> {
  return commits.commit(write(), { now: NOW, deadline, limits: DEFAULT_LIMITS });
}

async function failure(promise: Promise<unknown>): Promise<WafStateError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof WafStateError) return error;
  throw new Error('no WafStateError');
}

function countIn(results: readonly CommitResult[]): string | undefined {
  return results[0]?.values.get('n' as ByteString)?.value;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('group commit', () => {
  it('takes nothing from the neighbours of a commit that cannot be written down', async () => {
    const { writer, commits } = setUp();
    // Text when its bytes are counted, none when they are written.
    const names = ['n'];
    const torn = {
      type: 'set',
      value: 'v',
      get name() {
        return names.shift();
      },
    } as unknown as Mutation;
    const [first] = write();
    const before = add(commits);
    expect(() =>
      commits.commit(
        [{ ...(first as RecordWrite), mutations: [...(first as RecordWrite).mutations, torn] }],
        {
          now: NOW,
          limits: DEFAULT_LIMITS,
        },
      ),
    ).toThrow(TypeError);
    const after = add(commits);
    await turn();
    expect(writer.size).toBe(2);
    writer.apply();
    expect([countIn(await before), countIn(await after)]).toEqual(['1', '2']);
    await commits.drain();
    expect(commits.requests).toBe(0);
  });

  it('sends what came meanwhile before it settles what came back', async () => {
    const { writer, commits } = setUp();
    const first = add(commits);
    await turn();
    const second = add(commits);
    let batchesWhenSettled = 0;
    const heard = first.then(() => (batchesWhenSettled = writer.batches.length));
    writer.apply();
    await heard;
    expect(batchesWhenSettled).toBe(2);
    writer.apply();
    expect(countIn(await second)).toBe('2');
  });

  it('settles half where nothing came meanwhile, and the rest behind what its callers ask for next', async () => {
    const { writer, commits } = setUp({ sliceRequests: 2 });
    const order: string[] = [];
    const settled = [0, 1, 2, 3].map((caller) =>
      add(commits).then(() => {
        order.push(`${caller} heard, ${writer.batches.length} sent`);
        return add(commits);
      }),
    );
    await turn();
    expect(writer.size).toBe(4);
    writer.apply();
    await turn();
    expect(order).toEqual(['0 heard, 1 sent', '1 heard, 1 sent', '2 heard, 2 sent', '3 heard, 2 sent']);
    expect(writer.size).toBe(2);
    writer.apply();
    await turn();
    expect(writer.size).toBe(2);
    writer.apply();
    expect((await Promise.all(settled)).map(countIn)).toEqual(['5', '6', '7', '8']);
    expect(commits.requests).toBe(0);
  });

  it('sends what is asked for within the turn in which the last batch is settled', async () => {
    const { writer, commits } = setUp();
    for (let round = 1; round <= 3; round++) {
      const result = add(commits);
      await turn();
      // The caller asks again at once, and nobody else does.
      const again = result.then(() => add(commits));
      writer.apply();
      await turn();
      expect(writer.batches).toHaveLength(2 * round);
      writer.apply();
      expect(countIn(await again)).toBe(String(2 * round));
    }
  });

  it('sends the commits of one turn as one batch, and what comes meanwhile as the next', async () => {
    const { writer, commits } = setUp();
    const first = [add(commits), add(commits)];
    await turn();
    expect(writer.size).toBe(2);
    const second = [add(commits), add(commits), add(commits)];
    await turn();
    expect(writer.batches).toHaveLength(1);
    writer.apply();
    expect((await Promise.all(first)).map(countIn)).toEqual(['1', '2']);
    await turn();
    expect(writer.size).toBe(3);
    writer.apply();
    expect((await Promise.all(second)).map(countIn)).toEqual(['3', '4', '5']);
    expect(commits.requests).toBe(0);
    expect(commits.bytes).toBe(0);
  });

  it('splits what grows beyond the size of a batch', async () => {
    const { writer, commits } = setUp({ queueBytes: 2 ** 26 });
    const big = 'x'.repeat(2 ** 20);
    const all = Array.from({ length: 9 }, (_, index) =>
      commits.commit(write(`k${index}`, big), { now: NOW, limits: DEFAULT_LIMITS }),
    );
    const sizes: number[] = [];
    for (let batch = 0; batch < 3; batch++) {
      await turn();
      sizes.push(writer.size);
      writer.apply();
    }
    expect(sizes).toEqual([4, 4, 1]);
    await Promise.all(all);
    expect(commits.bytes).toBe(0);
  });

  it('refuses at once beyond the bound of requests', async () => {
    const { writer, commits } = setUp({ queueRequests: 2 });
    const accepted = [add(commits), add(commits)];
    const error = await failure(add(commits));
    expect(error).toMatchObject({
      code: 'queue_full',
      retryable: true,
      details: { option: 'queueRequests', limit: 2, actual: 3 },
    });
    await turn();
    writer.apply();
    await Promise.all(accepted);
    const later = add(commits);
    await turn();
    writer.apply();
    expect(countIn(await later)).toBe('3');
  });

  it('refuses at once beyond the bound of bytes, and for good what could never fit', async () => {
    const { writer, commits } = setUp({ queueBytes: 1000 });
    const accepted = commits.commit(write('k', 'x'.repeat(600)), { now: NOW, limits: DEFAULT_LIMITS });
    const second = commits.commit(write('k', 'x'.repeat(600)), { now: NOW, limits: DEFAULT_LIMITS });
    expect(await failure(second)).toMatchObject({
      code: 'queue_full',
      details: { option: 'queueBytes', limit: 1000 },
    });
    const never = commits.commit(write('k', 'x'.repeat(1001)), { now: NOW, limits: DEFAULT_LIMITS });
    expect(await failure(never)).toMatchObject({ code: 'capacity_exceeded', retryable: false });
    await turn();
    writer.apply();
    await accepted;
  });

  it('never sends what timed out while it waited', async () => {
    const { writer, commits } = setUp();
    const first = add(commits);
    await turn();
    const waiting = add(commits, NOW + 5n * MILLISECOND);
    const patient = add(commits);
    const error = await failure(waiting);
    expect(error).toMatchObject({ code: 'timeout', details: { outcome: 'not_sent' } });
    expect(error.settled).toBeUndefined();
    writer.apply();
    expect(countIn(await first)).toBe('1');
    await turn();
    expect(writer.size).toBe(1);
    writer.apply();
    expect(countIn(await patient)).toBe('2');
    expect(commits.bytes).toBe(0);
  });

  it('sends nothing where all that waited timed out', async () => {
    const { writer, commits } = setUp();
    const first = add(commits);
    await turn();
    await failure(add(commits, NOW + MILLISECOND));
    writer.apply();
    await first;
    await commits.drain();
    expect(writer.batches).toHaveLength(1);
  });

  it('tells later what became of a commit that timed out in flight', async () => {
    const { writer, commits } = setUp();
    const applied = add(commits, NOW + 5n * MILLISECOND);
    const refused = commits.commit([{ ...(write()[0] as RecordWrite), expect: 77 }], {
      now: NOW,
      deadline: NOW + 5n * MILLISECOND,
      limits: DEFAULT_LIMITS,
    });
    await turn();
    const errors = await Promise.all([failure(applied), failure(refused)]);
    for (const error of errors)
      expect(error).toMatchObject({ code: 'timeout', details: { outcome: 'unknown' } });
    writer.apply();
    expect(await errors[0]?.settled).toBe('applied');
    expect(await errors[1]?.settled).toBe('not_applied');
  });

  it('refuses a deadline that has passed, without sending', async () => {
    const { writer, commits } = setUp();
    expect(await failure(add(commits, NOW))).toMatchObject({
      code: 'timeout',
      details: { outcome: 'not_sent' },
    });
    await turn();
    expect(writer.batches).toHaveLength(0);
  });

  it('does not time out what was answered', async () => {
    const { writer, commits } = setUp();
    const done = add(commits, NOW + 20n * MILLISECOND);
    await turn();
    writer.apply();
    expect(countIn(await done)).toBe('1');
    await new Promise((resolve) => setTimeout(resolve, 30));
    const next = add(commits);
    await turn();
    writer.apply();
    expect(countIn(await next)).toBe('2');
  });

  it('sends again what a dead writer did not execute, but not for those who gave up', async () => {
    const { writer, commits } = setUp();
    const patient = add(commits);
    const impatient = add(commits, NOW + 5n * MILLISECOND);
    await turn();
    const error = await failure(impatient);
    writer.answer({ type: 'not_executed' });
    await turn();
    expect(await error.settled).toBe('not_applied');
    expect(writer.size).toBe(1);
    writer.apply();
    expect(countIn(await patient)).toBe('1');
  });

  it('gives an error of the writer to every commit of the batch, and tries none again', async () => {
    const { writer, commits } = setUp();
    const all = [add(commits), add(commits)];
    await turn();
    const error = new WafStateError('unavailable', 'no environment');
    writer.answer({ type: 'refused', error });
    expect(await Promise.all(all.map(failure))).toEqual([error, error]);
    await commits.drain();
    expect(writer.batches).toHaveLength(1);
  });

  it('tells what a dead writer applied, and sends what it refused again', async () => {
    const { writer, commits } = setUp();
    const applied = add(commits);
    const refused = add(commits);
    await turn();
    writer.answer({ type: 'applied', applied: Uint8Array.of(1, 0) });
    const error = await failure(applied);
    expect(error).toMatchObject({ code: 'writer_lost', retryable: false, details: { outcome: 'unknown' } });
    expect(await error.settled).toBe('applied');
    await turn();
    expect(writer.size).toBe(1);
    writer.apply();
    await refused;
  });

  it('settles what is in flight as unknown, and what waits as not sent, when the writer is lost', async () => {
    const { writer, commits } = setUp();
    const inFlight = add(commits);
    await turn();
    const waiting = add(commits);
    commits.abandon(new WafStateError('writer_lost', 'gone'));
    const error = await failure(inFlight);
    expect(error).toMatchObject({ code: 'writer_lost', details: { outcome: 'unknown' } });
    expect(await failure(waiting)).toMatchObject({ code: 'writer_lost', details: { outcome: 'not_sent' } });
    expect(await failure(add(commits))).toMatchObject({ code: 'writer_lost', message: 'gone' });
    await commits.drain();
    writer.apply();
    expect(await error.settled).toBe('applied');
    expect(commits.requests).toBe(0);
    expect(commits.bytes).toBe(0);
  });
});
