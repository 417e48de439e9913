import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import {
  type ByteString,
  Collections,
  DEFAULT_LIMITS,
  type EvictionMessage,
  nativeStatus,
  openSharedMemory,
  type RecordName,
  type RecordWrite,
  type SharedMemoryBackend,
} from 'wafstate';

const NOW = 1_800_000_000_000_000_000n;
const SECOND = 1_000_000_000n;
const N = 'n' as ByteString;
const { loaded, reason } = nativeStatus();

function name(key: string): RecordName {
  return { space: 1, applicationId: '' as ByteString, key: key as ByteString };
}

function hit(key: string, seconds: number, now = NOW): RecordWrite {
  return {
    record: name(key),
    expect: 'any',
    mutations: [
      { type: 'add', name: N, delta: 1n },
      { type: 'expire', name: N, deadline: now + BigInt(seconds) * SECOND, onlyIfNone: true },
    ],
  };
}

function commit(backend: SharedMemoryBackend, write: RecordWrite, now = NOW) {
  return backend.commit([write], { now, limits: DEFAULT_LIMITS });
}

describe.runIf(loaded)('a shared table', () => {
  it('is one for all who open its name, and refuses other bounds with both figures', async () => {
    const first = await openSharedMemory({ name: 'bounds', maxBytes: 2 ** 20 });
    const second = await openSharedMemory({ name: 'bounds', maxBytes: 2 ** 20 });
    await commit(first, hit('a', 60));
    expect(second.loadSync(name('a'), NOW, DEFAULT_LIMITS).variables.get(N)?.value).toBe('1');
    await first.close();
    expect(second.stats().records).toBe(1);
    await expect(openSharedMemory({ name: 'bounds', maxBytes: 2 ** 21 })).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringMatching(/maxBytes 1048576.* 2097152/),
      details: { option: 'maxBytes', limit: 2 ** 20, actual: 2 ** 21 },
    });
    await expect(
      openSharedMemory({ name: 'bounds', maxBytes: 2 ** 20, onFull: 'refuse' }),
    ).rejects.toMatchObject({ code: 'invalid_option', message: expect.stringContaining('onFull evict') });
    await second.close();
  });

  it('answers right where the listener of evictions uses the table itself', async () => {
    const backend = await openSharedMemory({ name: 'reentrant', maxBytes: 2 ** 20, maxRecords: 4 });
    const collections = new Collections({ backend });
    let heard = 0;
    const listen = (): void => {
      heard++;
      const tx = collections.begin();
      tx.bindSync('global', 'evictions');
      tx.set('global', 'text', 'x'.repeat(20_000));
      void tx.processLogging();
    };
    subscribe('wafstate:evict', listen);
    try {
      for (let i = 0; i < 200; i++) {
        expect(await collections.increment('ip', `counted ${i}`, 'n', { by: i + 1 })).toMatchObject({
          value: BigInt(i + 1),
          failure: undefined,
        });
        const tx = collections.begin();
        tx.bindSync('ip', `flushed ${i}`);
        tx.set('ip', 'key', `flushed ${i}`);
        const { ip } = await tx.processLogging();
        expect(ip?.values.get('key')).toBe(`flushed ${i}`);
        expect(tx.get('ip', 'key')).toBe(`flushed ${i}`);
      }
    } finally {
      unsubscribe('wafstate:evict', listen);
    }
    expect(heard).toBeGreaterThan(300);
    await backend.close();
  });

  it('evicts, counts it and reports it without a key', async () => {
    const backend = await openSharedMemory({ name: 'evicts', maxBytes: 2 ** 20, maxRecords: 2 });
    const messages: EvictionMessage[] = [];
    const listen = (message: unknown) => messages.push(message as EvictionMessage);
    subscribe('wafstate:evict', listen);
    await commit(backend, hit('block', 3600));
    await commit(backend, hit('first', 60));
    await commit(backend, hit('second', 60));
    unsubscribe('wafstate:evict', listen);
    expect(backend.loadSync(name('first'), NOW, DEFAULT_LIMITS).revision).toBe(0);
    expect(backend.loadSync(name('block'), NOW, DEFAULT_LIMITS).revision).toBeGreaterThan(0);
    const evicted = { ended: 0, seenOnce: 1, leastRecentlyUsed: 0, held: 0 };
    expect(messages).toEqual([{ engine: 'shared-memory', table: 'evicts', evicted }]);
    expect(backend.stats()).toMatchObject({ records: 2, evicted, refused: 0 });
    await backend.close();
  });

  it('refuses where told to, with the limit, the figure and the fix', async () => {
    const backend = await openSharedMemory({
      name: 'refuses',
      maxBytes: 2 ** 20,
      maxRecords: 2,
      onFull: 'refuse',
    });
    await commit(backend, hit('a', 5));
    await commit(backend, hit('b', 60));
    await expect(commit(backend, hit('c', 60))).rejects.toMatchObject({
      code: 'capacity_exceeded',
      message: expect.stringMatching(/3 records, maxRecords allows 2; raise it/),
      details: { option: 'maxRecords', limit: 2, actual: 3 },
    });
    await commit(backend, hit('b', 60));
    await commit(backend, hit('c', 60, NOW + 10n * SECOND), NOW + 10n * SECOND);
    expect(backend.stats()).toMatchObject({ records: 2, refused: 1 });
    await backend.close();
  });

  it('refuses a record of more than a quarter of its bytes', async () => {
    const backend = await openSharedMemory({ name: 'large', maxBytes: 2 ** 20 });
    const value = 'x'.repeat(300_000) as ByteString;
    const limits = { ...DEFAULT_LIMITS, valueBytes: 2 ** 20 };
    const write: RecordWrite = {
      record: name('a'),
      expect: 'any',
      mutations: [{ type: 'set', name: N, value }],
    };
    await expect(backend.commit([write], { now: NOW, limits })).rejects.toMatchObject({
      code: 'capacity_exceeded',
      details: { option: 'maxBytes', limit: 2 ** 18 },
    });
    await backend.close();
  });

  it('stays within its bytes under a million new keys, and keeps its blocks', async () => {
    const maxBytes = 2 ** 24;
    const backend = await openSharedMemory({ name: 'flood', maxBytes });
    for (let i = 0; i < 100; i++) {
      await commit(backend, hit(`block ${i}`, 3600));
      await commit(backend, hit(`block ${i}`, 3600));
    }
    const before = process.memoryUsage().rss;
    for (let i = 0; i < 1_000_000; i += 20) {
      const writes = Array.from({ length: 20 }, (_, n) => hit(`flood ${i + n}`, 60));
      await backend.commit(writes, { now: NOW, limits: DEFAULT_LIMITS });
    }
    expect(backend.stats().bytes).toBeLessThanOrEqual(maxBytes);
    expect(backend.stats().records).toBeGreaterThan(100_000);
    // The heap of JavaScript takes its part of the growth.
    expect(process.memoryUsage().rss - before).toBeLessThan(maxBytes + 2 ** 28);
    for (let i = 0; i < 100; i++) {
      const block = backend.loadSync(name(`block ${i}`), NOW, DEFAULT_LIMITS);
      expect(block.variables.get(N)?.value).toBe('2');
    }
    await backend.close();
  });

  it('refuses options that are none, by the nearest name or the range', async () => {
    const open = (options: object) => openSharedMemory(options as never);
    await expect(open({ name: 'x', maxByte: 1 })).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining("did you mean 'maxBytes'"),
    });
    for (const [options, text] of [
      [{}, 'name must be a string of 1 to 255'],
      [{ name: '' }, 'got 0'],
      [{ name: 'x', maxBytes: 1000 }, 'from 1048576 to 1099511627776, got 1000'],
      [{ name: 'x', maxRecords: 0 }, 'got 0'],
      [{ name: 'x', onFull: 'drop' }, "'evict' or 'refuse'"],
      [{ name: 'x', cleanupInterval: -1 }, 'seconds'],
      [{ name: 'x', clock: {} }, 'method now()'],
    ] as const) {
      await expect(open(options)).rejects.toMatchObject({
        code: 'invalid_option',
        message: expect.stringContaining(text),
      });
    }
  });

  it('sweeps by itself', async () => {
    const backend = await openSharedMemory({
      name: 'sweeps',
      cleanupInterval: 0.02,
      clock: { now: () => NOW + 100n * SECOND },
    });
    await commit(backend, hit('a', 60));
    await commit(backend, hit('b', 600));
    while (backend.stats().records > 1) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(backend.loadSync(name('b'), NOW, DEFAULT_LIMITS).revision).toBeGreaterThan(0);
    await backend.close();
  });
});

describe.runIf(!loaded)('a shared table without the addon', () => {
  it(`is refused, with the reason (${reason}) and the alternatives`, async () => {
    await expect(openSharedMemory({ name: 'none' })).rejects.toMatchObject({
      code: 'missing_feature',
      message: expect.stringMatching(/not loaded.*openMemory.*openLmdb/),
    });
  });
});
