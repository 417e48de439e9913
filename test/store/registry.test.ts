import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadStores, type PermissionRequest, type StoreRegistry } from 'wafstate/store';

let directory: string;
let stores: StoreRegistry | undefined;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wafstate-store-'));
});
afterEach(async () => {
  await stores?.close();
  rmSync(directory, { recursive: true });
});

const RUNS = { lifecycle: { auto_start: true } };

function memory(name: string, fields: object = {}) {
  return { name, kind: 'store.memory', ...RUNS, ...fields };
}

function lmdb(fields: { engine?: object; store?: object } = {}) {
  return [
    {
      name: 'main',
      kind: 'engine.lmdb',
      path: join(directory, 'state'),
      durability: 'relaxed',
      ...fields.engine,
    },
    { name: 'kept', kind: 'store.lmdb', database: 'main', namespace: 'kept', ...RUNS, ...fields.store },
  ];
}

async function load(...entries: object[]): Promise<StoreRegistry> {
  stores = await loadStores({ entries });
  return stores;
}

describe('stores', () => {
  test('are started where lifecycle.auto_start says so, and else by hand', async () => {
    const registry = await load(memory('a'), { name: 'b', kind: 'store.memory' });
    expect(registry.ids).toEqual(['a', 'b']);
    expect([registry.isRunning('a'), registry.isRunning('b')]).toEqual([true, false]);
    const b = await registry.open('b');
    await expect(b.get('k')).rejects.toMatchObject({ code: 'closed', kind: 'unavailable', retryable: false });
    await registry.start('b');
    await registry.start('b');
    expect(await b.get('k')).toBeUndefined();
  });

  test('are found by id alone', async () => {
    const registry = await load(memory('a'));
    await expect(registry.open('')).rejects.toMatchObject({ kind: 'invalid' });
    await expect(registry.open('b')).rejects.toMatchObject({ code: 'not_found' });
    await expect(registry.open('__proto__')).rejects.toMatchObject({ code: 'not_found' });
    await expect(registry.start('b')).rejects.toMatchObject({ code: 'not_found' });
    // No store can be had exclusively.
    await expect(registry.open('a', { exclusive: true } as object)).rejects.toMatchObject({
      kind: 'invalid',
    });
  });

  test('start nothing where any part of the configuration is wrong', async () => {
    const entries = [...lmdb(), { name: 'bad', kind: 'store.memory', max_sise: 1 }];
    await expect(loadStores({ entries })).rejects.toMatchObject({ code: 'invalid_option' });
    expect(existsSync(join(directory, 'state'))).toBe(false);
  });

  test('are all stopped where one cannot start', async () => {
    const path = join(directory, 'state');
    const elsewhere = { name: 'other', kind: 'engine.lmdb', path: join(directory, 'no', 'parent') };
    const failing = { name: 'failing', kind: 'store.lmdb', database: 'other', namespace: 'n', ...RUNS };
    await expect(loadStores({ entries: [...lmdb(), elsewhere, failing] })).rejects.toMatchObject({
      code: 'not_found',
    });
    // The environment is free for another map size, so it was closed.
    const registry = await load(...lmdb({ engine: { map_size: 2 ** 24 } }));
    expect(registry.isRunning('kept')).toBe(true);
    expect(existsSync(path)).toBe(true);
  });

  test('in memory begin empty when they are started again, and those on LMDB with what they had', async () => {
    const registry = await load(memory('gone'), ...lmdb());
    const [gone, kept] = [await registry.open('gone'), await registry.open('kept')];
    await Promise.all([gone.set('k', 1), kept.set('k', 1)]);
    for (const id of ['gone', 'kept']) {
      await registry.stop(id);
      await registry.stop(id);
    }
    for (const store of [gone, kept])
      await expect(store.set('k', 2)).rejects.toMatchObject({ code: 'closed' });
    for (const id of ['gone', 'kept']) await registry.start(id);
    expect([await gone.get('k'), await kept.get('k')]).toEqual([undefined, 1]);
  });

  test('finish what runs before they stop', async () => {
    // With a max_size an operation waits for the engine more than once.
    const registry = await load(...lmdb({ store: { max_size: 1000 } }));
    const store = await registry.open('kept');
    const writes = Array.from({ length: 100 }, (_, index) =>
      store.put(`k${index}`, index, { onlyIfAbsent: true }),
    );
    await registry.stop('kept');
    await Promise.all(writes);
    await registry.start('kept');
    expect((await store.list()).items).toHaveLength(100);
  });

  test('of one namespace, each with a max_size, keep it together', async () => {
    // Odd: the two go in step, and would meet an even bound exactly though neither counted the other's.
    const [engine, one] = lmdb({ store: { max_size: 9 } });
    const registry = await load(engine as object, one as object, { ...one, name: 'other' });
    const handles = [await registry.open('kept'), await registry.open('other')];
    const sets = Array.from({ length: 40 }, (_, index) => handles[index % 2]?.set(`k${index}`, 1));
    const outcomes = await Promise.allSettled(sets);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
    expect((await handles[0]?.list())?.items).toHaveLength(9);
  });

  test('of one namespace share their data, and those of others do not', async () => {
    const more = (name: string, namespace: string) => ({ ...lmdb()[1], name, namespace });
    const registry = await load(
      ...lmdb({ store: { namespace: 'a' } }),
      more('same', 'a'),
      more('longer', 'a.b'),
      more('b', 'b'),
    );
    const open = (id: string) => registry.open(id);
    await (await open('kept')).set('k', 1);
    await (await open('longer')).set('x', 1);
    expect(await (await open('same')).get('k')).toBe(1);
    expect(await (await open('b')).get('k')).toBeUndefined();
    expect((await (await open('kept')).list()).items.map(({ key }) => key)).toEqual(['k']);
    expect((await (await open('longer')).list()).items.map(({ key }) => key)).toEqual(['x']);
  });
});

describe('a handle', () => {
  test('is of no use once released, and others are not touched', async () => {
    const registry = await load(memory('a'));
    const [one, other] = [await registry.open('a'), await registry.open('a')];
    await one.set('k', 1);
    expect(String(one)).toBe('Store(a)');
    expect([one.release(), one.release()]).toEqual([true, true]);
    expect(String(one)).toBe('Store(a, released)');
    const calls = [
      one.get('k'),
      one.has('k'),
      one.entry('k'),
      one.ttl('k'),
      one.set('k', 1),
      one.put('k', 1),
      one.delete('k'),
      one.deleteIf('k', '1'),
      one.increment('k'),
      one.touch('k', 1),
      one.batch([]),
      one.list(),
      one.watch(),
      one.info(),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ kind: 'invalid' });
    expect(await other.get('k')).toBe(1);
  });
});

describe('reconfiguring', () => {
  test('a store in memory keeps its data and its handles', async () => {
    const registry = await load(memory('a', { max_size: 2 }));
    const store = await registry.open('a');
    await store.set('k', 1, { ttl: 60 });
    const { version } = await store.entry('k');
    await registry.reconfigure({
      entries: [memory('a', { max_size: 1, cleanup_interval: '1s' }), memory('b')],
    });
    expect(await store.entry('k')).toMatchObject({ value: 1, version });
    expect((await store.info()).limits.maxSize).toBe(1);
    await expect(store.set('l', 1)).rejects.toMatchObject({
      code: 'store_full',
      kind: 'unavailable',
      retryable: true,
    });
    expect(registry.isRunning('b')).toBe(true);
  });

  test('an engine waits for what runs and lets nothing fail', async () => {
    const registry = await load(...lmdb());
    const store = await registry.open('kept');
    let stopped = false;
    let count = 0;
    const writers = Array.from({ length: 8 }, async () => {
      while (!stopped) {
        await store.increment('n');
        count++;
      }
    });
    for (const map_size of [2 ** 24, 2 ** 25, 2 ** 26]) {
      await registry.reconfigure({
        entries: lmdb({ engine: { map_size }, store: { cleanup_interval: '2m' } }),
      });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    stopped = true;
    await Promise.all(writers);
    expect(await store.get('n')).toBe(count);
    expect(count).toBeGreaterThan(3);
  });

  test('goes back to the engine that was where the new one cannot be opened', async () => {
    const registry = await load(...lmdb());
    const store = await registry.open('kept');
    await store.set('k', 1);
    // Within one process an environment has one map size.
    const others = await loadStores({ entries: lmdb() });
    const waiting = registry.reconfigure({ entries: lmdb({ engine: { map_size: 2 ** 24 } }) });
    await expect(waiting).rejects.toMatchObject({ code: 'invalid_option', details: { option: 'mapSize' } });
    expect(await store.get('k')).toBe(1);
    await others.close();
    await registry.reconfigure({ entries: lmdb({ engine: { map_size: 2 ** 24 } }) });
    expect(await store.get('k')).toBe(1);
  });

  test('stops the stores of an engine that can be opened neither way, and says so', async () => {
    const registry = await load(...lmdb());
    const store = await registry.open('kept');
    await store.set('k', 1);
    const path = join(directory, 'state');
    // Away while it is open: neither configuration finds a parent for it.
    renameSync(directory, `${directory}-away`);
    const waiting = registry.reconfigure({ entries: lmdb({ engine: { map_size: 2 ** 24 } }) });
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    await expect(store.get('k')).rejects.toMatchObject({ code: 'closed' });
    renameSync(`${directory}-away`, directory);
    expect(existsSync(path)).toBe(true);
    await registry.start('kept');
    expect(await store.get('k')).toBe(1);
  });

  test('changes nothing where it is wrong, or would leave data behind', async () => {
    const registry = await load(memory('a'), ...lmdb());
    const kept = await registry.open('kept');
    await kept.set('k', 1);
    const refused = async (...entries: object[]) => {
      const error: unknown = await registry.reconfigure({ entries }).catch((reason: unknown) => reason);
      return String((error as Error).message);
    };
    expect(await refused(memory('a', { max_sise: 1 }))).toContain("did you mean 'max_size'?");
    expect(await refused(...lmdb({ store: { namespace: 'other' } }))).toContain(
      'namespace: cannot change while the store runs',
    );
    expect(await refused(...lmdb({ engine: { path: join(directory, 'other') } }))).toContain(
      'path: cannot change',
    );
    expect(await refused({ ...memory('kept') })).toContain('kind: cannot change');
    expect(registry.ids).toEqual(['a', 'kept']);
    expect(await kept.get('k')).toBe(1);
    await registry.stop('kept');
    await registry.reconfigure({ entries: lmdb({ store: { namespace: 'other' } }) });
    await registry.start('kept');
    expect(await kept.get('k')).toBeUndefined();
  });

  test('a store away stops it', async () => {
    const registry = await load(memory('a'), memory('b'));
    const a = await registry.open('a');
    await registry.reconfigure({ entries: [memory('b')] });
    await expect(a.get('k')).rejects.toThrow("store 'a' was removed");
    await expect(registry.open('a')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is over once the stores are closed', async () => {
    const registry = await load(memory('a'));
    await registry.close();
    await registry.close();
    await expect(registry.reconfigure({ entries: [] })).rejects.toMatchObject({ code: 'closed' });
    await expect(registry.start('a')).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('permissions', () => {
  test('are asked before every operation, with what it is about', async () => {
    const asked: string[] = [];
    const permissions = ({ permission, store, key, actor }: PermissionRequest) => {
      asked.push([permission, store, key, actor].join(' '));
      return true;
    };
    stores = await loadStores({ entries: [memory('a')] }, { permissions });
    const store = await stores.open('a', { actor: 'alice' });
    await store.set('k', 1);
    await store.get('k');
    await store.has('k');
    await store.delete('k');
    await store.list({ prefix: 'p' });
    await store.info();
    await store.batch([
      { type: 'put', key: 'x', value: 1 },
      { type: 'delete', key: 'y' },
    ]);
    await (await store.watch()).return?.();
    expect(asked).toEqual([
      'store.get a  alice',
      'store.key.set a k alice',
      'store.key.get a k alice',
      'store.key.has a k alice',
      'store.key.delete a k alice',
      'store.key.list a p alice',
      'store.info a  alice',
      'store.key.set a x alice',
      'store.key.delete a y alice',
      'store.key.get a  alice',
      'store.key.list a  alice',
    ]);
  });

  test.each([
    ['false', () => false],
    ['a promise of false', async () => false],
    ['what is only truthy', (() => 1) as unknown as () => boolean],
    [
      'a throw',
      () => {
        throw new Error('no');
      },
    ],
    ['a rejection', () => Promise.reject(new Error('no'))],
  ])('refuse by %s', async (_, hook) => {
    let refuses = false;
    stores = await loadStores({ entries: [memory('a')] }, { permissions: () => !refuses || hook() });
    const store = await stores.open('a');
    refuses = true;
    const denied = { code: 'permission_denied', retryable: false };
    await expect(stores.open('a')).rejects.toMatchObject(denied);
    await expect(store.set('k', 1)).rejects.toMatchObject(denied);
    await expect(store.batch([{ type: 'put', key: 'k', value: 1 }])).rejects.toMatchObject(denied);
    refuses = false;
    expect(await store.has('k')).toBe(false);
  });
});
