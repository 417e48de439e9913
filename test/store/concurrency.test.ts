import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { nativeStatus } from 'wafstate';
import { loadStores, type Store, type StoreRegistry } from 'wafstate/store';
import { ManualClock } from '../collections/manual-clock.js';
import { ENGINES } from './engines.js';

const worker = fileURLToPath(new URL('increment-worker.mjs', import.meta.url));
const PROCESSES = 4;
const COUNT = 2000;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'wafstate-store-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** How many increments were refused for want of room. */
function inProcess(path: string, keys: number, maxSize: number, native: string): Promise<number> {
  const child = spawn(process.execPath, [worker, path, String(COUNT), String(keys), String(maxSize)], {
    env: { ...process.env, WAFSTATE_NATIVE: native },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return new Promise((resolve, reject) => {
    child.on('close', (status) =>
      status === 0 ? resolve(Number(output)) : reject(new Error(`status ${status}`)),
    );
  });
}

function inThread(path: string, keys: number): Promise<void> {
  const thread = new Worker(worker, { workerData: [path, COUNT, keys, 0] });
  return new Promise((resolve, reject) => {
    thread.on('error', reject);
    thread.on('exit', (status) => (status === 0 ? resolve() : reject(new Error(`status ${status}`))));
  });
}

async function withCounters<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const stores: StoreRegistry = await loadStores({
    entries: [
      { name: 'main', kind: 'engine.lmdb', path: join(directory, 'state'), durability: 'relaxed' },
      {
        name: 'counters',
        kind: 'store.lmdb',
        database: 'main',
        namespace: 'counters',
        lifecycle: { auto_start: true },
      },
    ],
  });
  try {
    return await work(await stores.open('counters'));
  } finally {
    await stores.close();
  }
}

const IMPLEMENTATIONS = nativeStatus().loaded ? ['require', '0'] : ['0'];

describe.each(IMPLEMENTATIONS)('increments on LMDB with WAFSTATE_NATIVE=%s', (native) => {
  test.each([1, 50])('of four processes on %i keys are exact', async (keys) => {
    const path = join(directory, 'state');
    await Promise.all(Array.from({ length: PROCESSES }, () => inProcess(path, keys, 0, native)));
    await withCounters(async (store) => {
      for (let key = 0; key < keys; key++) {
        expect(await store.get(`key ${key}`)).toBe((PROCESSES * COUNT) / keys);
      }
    });
  });

  test('of four processes never make more entries than max_size', async () => {
    const path = join(directory, 'state');
    const full = await Promise.all(Array.from({ length: PROCESSES }, () => inProcess(path, 100, 30, native)));
    await withCounters(async (store) => {
      const { items } = await store.list();
      expect(items).toHaveLength(30);
      let sum = 0;
      for (const { key } of items) sum += Number(await store.get(key));
      expect(sum + full.reduce((a, b) => a + b)).toBe(PROCESSES * COUNT);
    });
  });
});

test('increments of two threads are exact', async () => {
  const path = join(directory, 'state');
  await Promise.all([inThread(path, 3), inThread(path, 3)]);
  await withCounters(async (store) => {
    const values = await Promise.all([0, 1, 2].map((key) => store.get(`key ${key}`)));
    expect(values.map(Number).reduce((a, b) => a + b)).toBe(2 * COUNT);
  });
});

describe.each(ENGINES)('at the same time on $name', ({ open }) => {
  test('exactly one of twenty gets a key that was absent', async () => {
    const { keyValue, close } = await open(new ManualClock());
    const puts = Array.from({ length: 20 }, (_, index) => keyValue.put('k', index, { onlyIfAbsent: true }));
    const outcomes = await Promise.allSettled(puts);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'already_exists' });
    }
    await close();
  });

  test('twenty first writes of one key all succeed', async () => {
    const { keyValue, close } = await open(new ManualClock());
    await Promise.all(Array.from({ length: 20 }, (_, index) => keyValue.set('k', index)));
    expect(await keyValue.has('k')).toBe(true);
    await close();
  });

  test('changes that rest on a look are each made once', async () => {
    const { keyValue, close } = await open(new ManualClock());
    await keyValue.set('n', 0);
    const addOne = async (): Promise<void> => {
      for (;;) {
        const { value, version } = await keyValue.entry('n');
        try {
          await keyValue.put('n', Number(value) + 1, { ifVersion: version });
          return;
        } catch (error) {
          expect(error).toMatchObject({ code: 'conflict', retryable: true });
        }
      }
    };
    await Promise.all(Array.from({ length: 20 }, addOne));
    expect(await keyValue.get('n')).toBe(20);
    await close();
  });

  test('one delete of twenty finds the key, whatever is added to it', async () => {
    const { keyValue, close } = await open(new ManualClock());
    await keyValue.set('k', 'v');
    const deleted = await Promise.all(Array.from({ length: 20 }, () => keyValue.delete('k')));
    expect(deleted.filter(Boolean)).toHaveLength(1);
    await close();
  });
});
