import { afterEach, describe, expect, test } from 'vitest';
import type { openMemory, WafStateError } from 'wafstate';
import { loadStores, type Store, type StoreEvent, type StoreRegistry } from 'wafstate/store';
import { ManualClock } from '../collections/manual-clock.js';
import { ENGINES } from './engines.js';

let stores: StoreRegistry | undefined;
afterEach(() => stores?.close());

async function memory(fields: object, clock?: ManualClock): Promise<Store> {
  stores = await loadStores(
    { entries: [{ name: 's', kind: 'store.memory', lifecycle: { auto_start: true }, ...fields }] },
    { clock },
  );
  return stores.open('s');
}

const FULL = { code: 'store_full', kind: 'unavailable', retryable: true };

describe.each(ENGINES)('a full store on $name', ({ open }) => {
  test('refuses new keys by every operation, and none of those that are there', async () => {
    const clock = new ManualClock();
    const { keyValue, close } = await open(clock, 2);
    await Promise.all([keyValue.set('a', 1), keyValue.set('b', 1)]);
    await expect(keyValue.set('c', 1)).rejects.toMatchObject(FULL);
    await expect(keyValue.put('c', 1, { onlyIfAbsent: true })).rejects.toMatchObject(FULL);
    await expect(keyValue.increment('c')).rejects.toMatchObject(FULL);
    await expect(
      keyValue.batch([
        { type: 'put', key: 'a', value: 'lost' },
        { type: 'put', key: 'c', value: 1 },
      ]),
    ).rejects.toMatchObject(FULL);
    expect(await keyValue.get('a')).toBe(1);
    await keyValue.set('a', 2);
    expect(await keyValue.increment('b')).toMatchObject({ value: 2n });
    expect(await keyValue.touch('a', 1)).toBe(true);
    await close();
  });

  test('has room as soon as an entry is deleted, or expired though it is not swept', async () => {
    const clock = new ManualClock();
    const { keyValue, close } = await open(clock, 3);
    await keyValue.batch(
      ['a', 'b', 'c'].map((key, index) => ({ type: 'put', key, value: 1, ttl: index + 1 })),
    );
    await expect(keyValue.set('d', 1)).rejects.toMatchObject(FULL);
    clock.advance(1);
    await keyValue.set('d', 1);
    await expect(keyValue.set('e', 1)).rejects.toMatchObject(FULL);
    expect(await keyValue.delete('d')).toBe(true);
    await keyValue.set('e', 1);
    clock.advance(1);
    // An expired one that is put again has its own place, and none for another.
    await expect(
      keyValue.batch(['b', 'f'].map((key) => ({ type: 'put', key, value: 1 }))),
    ).rejects.toMatchObject(FULL);
    await keyValue.set('b', 2);
    clock.advance(1);
    await keyValue.set('c', 1);
    expect((await keyValue.list()).items.map(({ key }) => key)).toEqual(['b', 'c', 'e']);
    await close();
  });

  test('never has more than it may, however many come at once', async () => {
    const { keyValue, close } = await open(new ManualClock(), 10);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => keyValue.set(`k${index}`, 1)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect((await keyValue.list()).items).toHaveLength(10);
    await close();
  });

  test('counts only what a batch adds beyond what it deletes before', async () => {
    const { keyValue, close } = await open(new ManualClock(), 1);
    await keyValue.set('a', 1);
    // Deleting makes room for later commits, not within its own.
    await expect(
      keyValue.batch([
        { type: 'delete', key: 'a' },
        { type: 'put', key: 'b', value: 1 },
      ]),
    ).rejects.toMatchObject(FULL);
    expect(await keyValue.has('a')).toBe(true);
    await close();
  });
});

describe.each(ENGINES)('on $name', ({ open }) => {
  test('a sequence of a hundred with every third deleted', async () => {
    const { keyValue, close } = await open(new ManualClock());
    for (let index = 0; index < 100; index++) {
      await keyValue.set(`k${index}`, index);
      expect(await keyValue.get(`k${index}`)).toBe(index);
      if (index % 3 === 0) await keyValue.delete(`k${index}`);
      expect(await keyValue.has(`k${index}`)).toBe(index % 3 !== 0);
    }
    await close();
  });

  test('values of 100 KiB and of the limit', async () => {
    const { keyValue, close } = await open(new ManualClock());
    for (const size of [100 * 1024, 2 ** 20]) {
      const value = 'é'.repeat(size / 2);
      await keyValue.set('k', value);
      expect(await keyValue.get('k')).toBe(value);
      const bytes = Buffer.alloc(size, 7);
      await keyValue.set('k', bytes);
      expect(await keyValue.get('k')).toEqual(bytes);
    }
    await close();
  });

  test('pages: order, cursor, limits', async () => {
    const { keyValue, close } = await open(new ManualClock());
    expect(await keyValue.list()).toEqual({ items: [], cursor: '', hasMore: false, corrupt: [] });
    const keys = Array.from({ length: 250 }, (_, index) => `p:${String(index).padStart(4, '0')}`);
    await Promise.all(['plain', ...keys, 'q'].map((key) => keyValue.set(key, 1)));
    const first = await keyValue.list({ prefix: 'p:', limit: 1 });
    expect(first).toMatchObject({ items: [{ key: 'p:0000' }], cursor: 'p:0000', hasMore: true });
    expect((await keyValue.list({ prefix: 'p:' })).items).toHaveLength(100);
    expect((await keyValue.list({ prefix: 'p:', limit: 0 })).items).toHaveLength(100);
    expect(await keyValue.list({ prefix: 'p:', limit: 250 })).toMatchObject({
      cursor: 'p:0249',
      hasMore: false,
    });
    expect((await keyValue.list({ limit: 5000 })).items).toHaveLength(252);
    expect((await keyValue.list({ prefix: 'pl' })).items).toMatchObject([{ key: 'plain' }]);
    expect((await keyValue.list({ prefix: 'p:', after: 'a' })).items[0]).toMatchObject({ key: 'p:0000' });
    expect((await keyValue.list({ prefix: 'p:', after: 'z' })).items).toEqual([]);
    const seen: string[] = [];
    for (let after = '', more = true; more; ) {
      const page = await keyValue.list({ prefix: 'p:', after });
      seen.push(...page.items.map(({ key }) => key));
      [after, more] = [page.cursor, page.hasMore];
    }
    expect(seen).toEqual(keys);
    await close();
  });

  test('a limit of 1000 with more behind it, and expired ones between', async () => {
    const clock = new ManualClock();
    const { keyValue, close } = await open(clock);
    const put = (key: string, ttl: number) => ({ type: 'put' as const, key, value: 1, ttl });
    const name = (index: number) => `k${String(index).padStart(5, '0')}`;
    for (const from of [0, 1000, 2000]) {
      await keyValue.batch(Array.from({ length: 1000 }, (_, index) => put(name(from + index), index % 2)));
    }
    clock.advance(1);
    const page = await keyValue.list({ limit: 1000 });
    expect(page).toMatchObject({ cursor: name(1998), hasMore: true });
    expect(page.items).toHaveLength(1000);
    expect((await keyValue.list({ limit: 1000, after: page.cursor })).items).toHaveLength(500);
    await close();
  });

  test('a batch is done whole or not at all', async () => {
    const { keyValue, close } = await open(new ManualClock());
    await keyValue.set('a', 1);
    const { version } = await keyValue.entry('a');
    const results = await keyValue.batch([
      { type: 'put', key: 'b', value: 'B', ttl: 5 },
      { type: 'increment', key: 'a', by: 4 },
      { type: 'delete', key: 'none' },
    ]);
    expect(results).toMatchObject([{ key: 'b', value: 'B' }, { value: 5n }, false]);
    for (const bad of [
      { type: 'put', key: 'c', value: 1, ifVersion: '1' },
      { type: 'put', key: 'a', value: 1, onlyIfAbsent: true },
      { type: 'delete', key: 'a', ifVersion: version },
      { type: 'increment', key: 'b' },
      { type: 'increment', key: 'a', by: 2n ** 63n - 1n },
    ] as const) {
      const failing =
        bad.key === 'b' ? { type: 'delete' as const, key: 'a' } : { type: 'delete' as const, key: 'b' };
      await expect(keyValue.batch([failing, bad])).rejects.toMatchObject({ name: 'WafStateError' });
    }
    const twice = { type: 'delete' as const, key: 'a' };
    await expect(keyValue.batch([twice, twice])).rejects.toMatchObject({ kind: 'invalid' });
    for (const wrong of [
      null,
      5,
      [null],
      [{}],
      [{ type: 'toString', key: 'a' }],
      [{ ...twice, misspelt: 1 }],
      new Array(1001).fill(twice),
    ]) {
      await expect(keyValue.batch(wrong as [])).rejects.toMatchObject({ kind: 'invalid' });
    }
    expect(await keyValue.get('a')).toBe(5);
    expect(await keyValue.get('b')).toBe('B');
    await close();
  });

  test('increments tell what they cannot do, and change nothing then', async () => {
    const { keyValue, close } = await open(new ManualClock());
    for (const value of ['text', '5', '', true, 0.5, [1], Buffer.from('9')]) {
      await keyValue.set('k', value);
      for (const by of [1, -1, 0, 2n ** 63n - 1n, -(2n ** 63n)]) {
        await expect(keyValue.increment('k', { by })).rejects.toMatchObject({ code: 'invalid_mutation' });
      }
      expect(await keyValue.get('k')).toEqual(value);
    }
    const most = 2n ** 63n - 1n;
    await keyValue.set('k', most);
    await expect(keyValue.increment('k')).rejects.toMatchObject({ code: 'capacity_exceeded' });
    expect(await keyValue.increment('k', { by: 0 })).toMatchObject({ value: most });
    expect(await keyValue.increment('k', { by: -1 })).toMatchObject({ value: most - 1n });
    await keyValue.set('k', -(2n ** 63n));
    await expect(keyValue.increment('k', { by: -1 })).rejects.toMatchObject({ code: 'capacity_exceeded' });
    expect(await keyValue.increment('k', { by: 0 })).toMatchObject({ value: -(2n ** 63n) });
    await close();
  });

  test('a counter has the window of its first increment, and begins anew after it', async () => {
    const clock = new ManualClock();
    const { keyValue, close } = await open(clock);
    const { expiresAt } = await keyValue.increment('n', { ttl: 10 });
    clock.advance(6);
    expect(await keyValue.increment('n', { ttl: 10 })).toMatchObject({ value: 2n, expiresAt });
    expect(await keyValue.ttl('n')).toBe(4);
    clock.advance(4);
    expect(await keyValue.ttl('n')).toBeUndefined();
    expect(await keyValue.increment('n')).toMatchObject({ value: 1n, expiresAt: undefined });
    expect(await keyValue.ttl('n')).toBe(Number.POSITIVE_INFINITY);
    await close();
  });

  test('touch moves the deadline and takes it away', async () => {
    const clock = new ManualClock();
    const { keyValue, close } = await open(clock);
    await keyValue.set('k', { a: [1] }, { ttl: 1 });
    expect(await keyValue.touch('k', 5)).toBe(true);
    clock.advance(4);
    expect(await keyValue.touch('k', 0)).toBe(true);
    clock.advance(1e6);
    expect(await keyValue.get('k')).toEqual({ a: [1] });
    expect(await keyValue.touch('none', 5)).toBe(false);
    expect(await keyValue.has('none')).toBe(false);
    await expect(keyValue.touch('k', -1)).rejects.toMatchObject({ kind: 'invalid' });
    await close();
  });

  test('a write of another kind takes the place of a counter and back', async () => {
    const { keyValue, close } = await open(new ManualClock());
    await keyValue.increment('k', { ttl: 5 });
    await keyValue.set('k', 'text');
    expect(await keyValue.entry('k')).toMatchObject({ value: 'text', expiresAt: undefined });
    await keyValue.set('k', 3);
    expect(await keyValue.increment('k')).toMatchObject({ value: 4n });
    await close();
  });
});

describe('a store in memory', () => {
  test('sweeps by itself, in slices', async () => {
    const clock = new ManualClock();
    const store = await memory({ cleanup_interval: '20ms' }, clock);
    const events: StoreEvent[] = [];
    const watch = await store.watch();
    await store.batch(
      Array.from({ length: 500 }, (_, index) => ({ type: 'put', key: `k${index}`, value: 1, ttl: 1 })),
    );
    for (let index = 0; index < 500; index++) events.push((await watch.next()).value as StoreEvent);
    clock.advance(2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    // Sweeping is no change, and what was swept leaves nothing behind.
    await store.set('later', 1);
    expect((await watch.next()).value).toMatchObject({ key: 'later' });
    expect(events).toHaveLength(500);
  });

  test('counts what it sweeps as gone from the engine', async () => {
    const [engine] = ENGINES.filter(({ name }) => name === 'memory');
    const clock = new ManualClock();
    const { keyValue, backend, close } = await (engine as (typeof ENGINES)[number]).open(clock, 100);
    for (let index = 0; index < 100; index++) await keyValue.set(`k${index}`, 1, { ttl: 1 });
    clock.advance(1);
    for (let index = 0; index < 40; index++) await keyValue.set(`new${index}`, 1);
    // Each new one took the place of an expired one: never more than may be.
    expect((backend as ReturnType<typeof openMemory>).stats().records).toBe(100);
    await close();
  });

  test('is empty after 200 keys with deadlines under readers', async () => {
    const clock = new ManualClock();
    const store = await memory({}, clock);
    for (let index = 0; index < 200; index++)
      await store.set(`k${index}`, index, { ttl: (20 + (index % 50)) / 1000 });
    const readers = Array.from({ length: 5 }, async () => {
      for (let index = 0; index < 200; index++) await store.get(`k${index}`);
    });
    clock.advance(0.07);
    await Promise.all(readers);
    expect(await store.list()).toMatchObject({ items: [], hasMore: false });
  });

  test('serves many at once and is of use afterwards', async () => {
    const store = await memory({ max_size: 50 });
    const codes = new Set<string>();
    const worker = async (worker: number) => {
      for (let turn = 0; turn < 100; turn++) {
        const key = `k${(worker * 31 + turn * 7) % 80}`;
        try {
          await store.set(key, turn, { ttl: 60 });
          await store.get(key);
          await store.has(key);
          if (turn % 2 === 0) await store.delete(key);
          await store.entry(key);
        } catch (error) {
          codes.add((error as WafStateError).code);
        }
      }
    };
    await Promise.all(Array.from({ length: 30 }, (_, index) => worker(index)));
    expect([...codes].sort()).toEqual(['not_found', 'store_full']);
    expect((await store.list()).items.length).toBeLessThanOrEqual(50);
    await store.set((await store.list()).items[0]?.key ?? 'k', 'still');
  });

  test('tells what it is', async () => {
    expect(await (await memory({ max_size: 7 })).info()).toEqual({
      id: 's',
      backend: 'memory',
      consistency: 'linearizable',
      durable: false,
      list: true,
      versioned: true,
      conditionalPut: true,
      ttl: true,
      watch: true,
      limits: { keyBytes: 1024, valueBytes: 2 ** 20, maxSize: 7 },
    });
  });
});

describe('a watch', () => {
  test('has every change in order, with what was and what is', async () => {
    const store = await memory({});
    const watch = await store.watch({ prefix: 'a' });
    await store.set('a', 1);
    await store.set('b', 1);
    await store.increment('a');
    await store.delete('a');
    await store.delete('a');
    await stores?.stop('s');
    const events: StoreEvent[] = [];
    for await (const event of watch) events.push(event);
    expect(events).toMatchObject([
      { type: 'put', key: 'a', entry: { value: 1 }, previous: undefined },
      { type: 'put', key: 'a', entry: { value: 2 }, previous: { value: 1 } },
      { type: 'delete', key: 'a', previous: { value: 2 } },
    ]);
  });

  test('ends with its signal, and at once where that was given already', async () => {
    const store = await memory({});
    const controller = new AbortController();
    const watch = await store.watch({ signal: controller.signal });
    const next = watch.next();
    controller.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    await store.set('a', 1);
    expect(await watch.next()).toEqual({ done: true, value: undefined });
    expect(await (await store.watch({ signal: controller.signal })).next()).toMatchObject({ done: true });
    await expect(store.watch({ signal: 5 } as object)).rejects.toMatchObject({ kind: 'invalid' });
    await expect(store.watch({ prefix: 5 } as object)).rejects.toMatchObject({ kind: 'invalid' });
  });

  test('that nobody reads fails alone, once what waited was read', async () => {
    const store = await memory({});
    const watch = await store.watch();
    for (let index = 0; index < 1001; index++) await store.set('k', index);
    for (let index = 0; index < 1000; index++) expect((await watch.next()).done).toBe(false);
    await expect(watch.next()).rejects.toMatchObject({ code: 'queue_full' });
    expect(await watch.next()).toEqual({ done: true, value: undefined });
    expect(await store.get('k')).toBe(1000);
  });
});
