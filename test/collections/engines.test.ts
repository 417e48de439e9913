import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Backend, Collections, nativeStatus, openLmdb, openSharedMemory } from 'wafstate';
import { checkHistories } from './history.js';

const paths: string[] = [];

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'wafstate-collections-'));
  paths.push(path);
  return path;
}

afterAll(() => {
  for (const path of paths) rmSync(path, { recursive: true });
});

const lmdb = (implementation: 'native' | 'typescript') => () =>
  openLmdb({ path: directory(), durability: 'relaxed', cleanupInterval: 0, implementation });
const engines: { name: string; open: () => Backend | Promise<Backend> }[] = [
  { name: 'LMDB in TypeScript', open: lmdb('typescript') },
];
const native = nativeStatus();
if (native.loaded) {
  engines.push({ name: 'LMDB in C++', open: lmdb('native') });
  engines.push({
    name: 'shared memory',
    open: () => openSharedMemory({ name: 'collections', cleanupInterval: 0 }),
  });
} else {
  console.log(`LMDB in C++ and shared memory are left out: ${native.reason}`);
}

/** What holds in memory also holds on the engines beside worker threads and in C++, as a user opens them. */
describe.each(engines)('on $name', ({ open }) => {
  let backend: Backend;

  beforeAll(async () => {
    backend = await open();
  });

  afterAll(async () => {
    await backend.close();
  });

  test('random histories are those of the model', async () => {
    await checkHistories((clock) => new Collections({ backend, clock }), 60);
  });

  test('2000 transactions side by side count exactly, together in two collections', async () => {
    const collections = new Collections({ backend });
    await Promise.all(
      Array.from({ length: 2000 }, async () => {
        using tx = collections.begin();
        await tx.bind('ip', 'exact');
        tx.bindSync('global', 'exact');
        tx.add('ip', 'n', 1);
        tx.add('global', 'n', 1);
        await tx.processLogging();
      }),
    );
    using tx = collections.begin();
    tx.bindSync('ip', 'exact');
    tx.bindSync('global', 'exact');
    expect([tx.get('ip', 'n'), tx.get('global', 'n')]).toEqual(['2000', '2000']);
  });

  test('an acknowledged flush is seen by the next bind', async () => {
    const collections = new Collections({ backend });
    for (let round = 1; round <= 50; round++) {
      using tx = collections.begin();
      tx.bindSync('user', 'next');
      expect(tx.get('user', 'n') ?? '0').toBe(String(round - 1));
      tx.add('user', 'n', 1);
      await tx.processLogging();
    }
  });

  test('a batch that fails in one collection leaves the other as it was', async () => {
    const collections = new Collections({ backend });
    using tx = collections.begin();
    await tx.bind('ip', 'whole');
    await tx.bind('global', 'whole');
    tx.add('ip', 'n', 1);
    tx.set('global', 'n', 2n ** 63n - 1n);
    tx.add('global', 'n', 1);
    await expect(tx.processLogging()).rejects.toMatchObject({
      code: 'capacity_exceeded',
      details: { collections: { ip: 'not_applied', global: 'not_applied' } },
    });
    using later = collections.begin();
    later.bindSync('ip', 'whole');
    expect(later.count('ip')).toBe(0);
  });

  test('a deadline rejects with timeout, and the request may go on under fail_open', async () => {
    const deadline = BigInt(Date.now()) * 1_000_000n - 1n;
    using closed = new Collections({ backend }).begin({ deadline });
    await expect(closed.bind('ip', 'late')).rejects.toMatchObject({ code: 'timeout' });
    using open = new Collections({ backend, failurePolicy: 'fail_open' }).begin({ deadline });
    await open.bind('ip', 'late');
    open.add('ip', 'n', 1);
    expect(await open.processLogging()).toEqual({});
    expect(open.lastPersistentFailure('ip')).toMatchObject({
      code: 'timeout',
      details: { outcome: 'not_sent' },
    });
  });
});
