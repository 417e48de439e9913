import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type MemoryBackend, openMemory } from '../../../src/backend/memory/memory.js';
import type { MemoryOptions } from '../../../src/backend/memory/options.js';
import type { ByteString } from '../../../src/contract/bytes.js';
import { SECOND } from '../../../src/contract/clock.js';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.js';

let now = 0n;
const clock = { now: () => now };

beforeEach(() => {
  now = 1_000_000n * SECOND;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** An engine with so many records that are over in ten seconds, and one that is not. */
async function filled(count: number, options: MemoryOptions): Promise<MemoryBackend> {
  const memory = openMemory({ clock, ...options });
  const commit = (key: string, timeout?: bigint) =>
    memory.commit(
      [
        {
          record: { space: 1, applicationId: '' as ByteString, key: key as ByteString },
          expect: 'any',
          timeout,
          mutations: [{ type: 'set', name: 'x' as ByteString, value: '1' as ByteString }],
        },
      ],
      { now, limits: DEFAULT_LIMITS },
    );
  for (let i = 0; i < count; i++) await commit(`k${i}`, 10n * SECOND);
  await commit('live');
  return memory;
}

async function pass(seconds: number): Promise<void> {
  now += BigInt(seconds) * SECOND;
  await vi.advanceTimersByTimeAsync(seconds * 1000);
}

describe('an engine sweeps by itself', () => {
  it('all that is over, after cleanupInterval, slice by slice', async () => {
    const memory = await filled(1000, { cleanupInterval: 20 });
    await pass(10);
    expect(memory.stats().records).toBe(1001);
    await pass(13);
    expect(memory.stats().records).toBe(1);
    await memory.close();
  });

  it('again and again', async () => {
    const memory = await filled(0, { cleanupInterval: 20 });
    for (let round = 0; round < 3; round++) {
      const record = { space: 1, applicationId: '' as ByteString, key: `round${round}` as ByteString };
      await memory.commit([{ record, expect: 'any', timeout: SECOND, mutations: [] }], {
        now,
        limits: DEFAULT_LIMITS,
      });
      expect(memory.stats().records).toBe(2);
      await pass(23);
      expect(memory.stats().records).toBe(1);
    }
    await memory.close();
  });

  it('every 60 seconds by default, give or take a tenth', async () => {
    const memory = await filled(10, {});
    await pass(53);
    expect(memory.stats().records).toBe(11);
    await pass(14);
    expect(memory.stats().records).toBe(1);
    await memory.close();
  });

  it('in slices between which other work runs', async () => {
    const memory = await filled(1000, { cleanupInterval: 20 });
    now += 30n * SECOND;
    vi.advanceTimersToNextTimer();
    const left = memory.stats().records;
    expect(left).toBeLessThan(1001);
    expect(left).toBeGreaterThan(1);
    vi.advanceTimersToNextTimer();
    expect(memory.stats().records).toBeLessThan(left);
    await memory.close();
  });

  it('never with cleanupInterval 0', async () => {
    const memory = await filled(10, { cleanupInterval: 0 });
    expect(vi.getTimerCount()).toBe(0);
    await pass(1000);
    expect(memory.stats().records).toBe(11);
    await memory.close();
  });

  it('no more once it is closed, also in the middle of a sweep', async () => {
    const idle = await filled(10, { cleanupInterval: 20 });
    await idle.close();
    expect(vi.getTimerCount()).toBe(0);
    const busy = await filled(1000, { cleanupInterval: 20 });
    now += 30n * SECOND;
    vi.advanceTimersToNextTimer();
    await busy.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
