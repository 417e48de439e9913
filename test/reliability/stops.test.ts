import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, nativeStatus, openLmdb } from 'wafstate';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { add, counted, NOW, RECORD } from './engines.js';
import { run } from './program.js';
import { torture } from './script.js';

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-stops-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe.each(IMPLEMENTATIONS)('a process that ends under load, LMDB, %s', (implementation) => {
  it.each(['durable', 'relaxed'])(
    'by a signal, exit, error or close() ends in bounded time and loses nothing acknowledged, %s',
    async (durability) => {
      const [done] = await torture(`--${implementation}`, '--durability', durability, '--stops', '12');
      expect(done).toMatchObject({ faults: [], stops: 12 });
      expect(done?.['acknowledged']).toBeGreaterThan(0);
    },
    300_000,
  );

  it('while only threads of it have the environment open ends, and holds up nobody', async () => {
    const path = join(scratch, `threads ${implementation}`);
    const { status, stderr, lines } = run(
      `
      import { Worker } from 'node:worker_threads';
      const [path, implementation] = args;
      const thread = new Worker(\`
        import { workerData, parentPort } from 'node:worker_threads';
        const { openLmdb, DEFAULT_LIMITS } = await import(workerData.wafstate);
        const backend = await openLmdb({ ...workerData.open, durability: 'relaxed' });
        const add = (key) => backend.commit(
          [{ record: { space: 1, applicationId: '', key }, expect: 'any', mutations: [{ type: 'add', name: 'n', delta: 1n }] }],
          { now: \${NOW}n, limits: DEFAULT_LIMITS });
        await add('k');
        // One transaction that takes long.
        for (let i = 0; i < 60_000; i++) void add('client ' + i);
        setImmediate(() => parentPort.postMessage('sent'));\`,
        { eval: true, workerData: { wafstate: import.meta.resolve('wafstate'), open: { path, implementation } } });
      thread.once('message', () => setTimeout(() => process.exit(7), 30));`,
      [path, implementation],
    );
    expect({ status, stderr, lines }).toEqual({ status: 7, stderr: '', lines: [] });
    const backend = await openLmdb({ path, implementation, durability: 'relaxed', writerTimeout: 20 });
    await add(backend);
    expect(counted(backend.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBe(2);
    await backend.close();
  });
});

describe.runIf(nativeStatus().loaded && process.platform === 'linux')('LMDB, native', () => {
  // Ended while it loads that package, a thread takes the process down.
  it('does not load the lmdb package', () => {
    const { lines, stderr } = run(
      `
      import { readFileSync } from 'node:fs';
      const backend = await openLmdb({ path: args[0], implementation: 'native' });
      await add(backend);
      const loaded = readFileSync('/proc/self/maps', 'latin1').split('\\n').filter((line) => line.includes('@lmdb'));
      await backend.close();
      console.log(loaded.length);`,
      [join(scratch, 'loaded')],
    );
    expect({ lines, stderr }).toEqual({ lines: ['0'], stderr: '' });
  });
});

const HELD_IN_MEMORY = ['openMemory', ...(nativeStatus().loaded ? ['openSharedMemory'] : [])];

describe.each(HELD_IN_MEMORY)('a process that ends while threads of it count in %s', (open) => {
  const ENDS = {
    'process.exit()': 'process.exit(7)',
    'an error': "throw new Error('expected')",
    SIGTERM: '',
  };
  it.each(Object.entries(ENDS))('ends, by %s', (name, end) => {
    const { status, signal } = run(
      `
      import { Worker } from 'node:worker_threads';
      const [open] = args;
      const threads = Array.from({ length: 2 }, () => new Worker(\`
        import { workerData, parentPort } from 'node:worker_threads';
        const wafstate = await import(workerData.wafstate);
        const backend = await wafstate[workerData.open](workerData.options);
        const mutations = [{ type: 'add', name: 'n', delta: 1n }];
        for (let i = 0; ; i++) {
          const record = { space: 1, applicationId: '', key: 'client ' + i % 1000 };
          await backend.commit([{ record, expect: 'any', mutations }], { now: \${NOW}n, limits: wafstate.DEFAULT_LIMITS });
          if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
          if (i === 1000) parentPort.postMessage('counting');
        }\`,
        { eval: true, workerData: { open, options: open === 'openMemory' ? {} : { name: 'stops' }, wafstate: import.meta.resolve('wafstate') } }));
      await Promise.all(threads.map((thread) => new Promise((resolve, reject) => {
        thread.once('message', resolve);
        thread.once('error', reject);
      })));
      ${end === '' ? "process.kill(process.pid, 'SIGTERM'); setInterval(() => undefined, 1000);" : `${end};`}`,
      [open],
    );
    const expected = { 'process.exit()': [7, null], 'an error': [1, null], SIGTERM: [null, 'SIGTERM'] }[name];
    expect([status, signal]).toEqual(expected);
  });
});
