import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import {
  type ByteString,
  COLLECTION_SPACES,
  DEFAULT_LIMITS,
  nativeStatus,
  openSharedMemory,
  type SharedMemoryOptions,
} from 'wafstate';

const NOW = 1_800_000_000_000_000_000n;
const { loaded, reason } = nativeStatus();

function start(options: SharedMemoryOptions, key: string, times: number): Worker {
  return new Worker(new URL('./worker.mjs', import.meta.url), {
    workerData: { options, key, times, now: NOW },
  });
}

async function ended(worker: Worker): Promise<void> {
  const [code] = await once(worker, 'exit');
  expect(code).toBe(0);
}

async function counter(options: SharedMemoryOptions, key: string): Promise<number> {
  const backend = await openSharedMemory(options);
  const record = { space: COLLECTION_SPACES.ip, applicationId: '' as ByteString, key: key as ByteString };
  const snapshot = backend.loadSync(record, NOW, DEFAULT_LIMITS);
  await backend.close();
  return Number(snapshot.variables.get('n' as ByteString)?.value ?? 0);
}

describe.runIf(loaded)('a shared table and threads', () => {
  it('keeps what a thread has written when that thread has ended, also where no other had it open', async () => {
    const options = { name: 'outlives' };
    await ended(start(options, 'a', 10));
    await ended(start(options, 'a', 10));
    expect(await counter(options, 'a')).toBe(20);
  });

  it('counts 8 threads of 20,000 increments to exactly 160,000', async () => {
    const options = { name: 'exact', maxBytes: 2 ** 20 };
    await Promise.all(Array.from({ length: 8 }, () => ended(start(options, 'shared', 20_000))));
    expect(await counter(options, 'shared')).toBe(160_000);
  });

  it('goes on where threads are terminated in the middle of their commits', async () => {
    const options = { name: 'terminated' };
    for (let i = 0; i < 20; i++) {
      const worker = start(options, 'shared', Number.MAX_SAFE_INTEGER);
      await once(worker, 'message');
      await worker.terminate();
    }
    const before = await counter(options, 'shared');
    expect(before).toBeGreaterThanOrEqual(20 * 101);
    await ended(start(options, 'shared', 1000));
    expect(await counter(options, 'shared')).toBe(before + 1000);
  });
});

describe.runIf(!loaded)('a shared table and threads', () => {
  it(`is not tested: there is no addon (${reason})`, () => undefined);
});
