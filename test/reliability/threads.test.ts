import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, nativeStatus, openLmdb, openSharedMemory } from 'wafstate';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { add, counted, type Engine, NOW, RECORD } from './engines.js';
import { ROOT } from './program.js';

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-threads-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const PACKAGE = pathToFileURL(join(ROOT, 'dist', 'index.js')).href;
const STAGES = ['opening', 'open', 'busy', 'draining', 'closed'] as const;

/** Opens the engine, goes on to a stage, says so, and stays there until it is ended. */
const LIFE = `
  const { parentPort, workerData: { kind, place, stage } } = require('node:worker_threads');
  (async () => {
    const { openLmdb, openSharedMemory, DEFAULT_LIMITS } = await import(${JSON.stringify(PACKAGE)});
    const opening = kind === 'shared memory'
      ? openSharedMemory({ name: place, cleanupInterval: 0 })
      : openLmdb({ path: place, implementation: kind, durability: 'relaxed', cleanupInterval: 0 });
    if (stage === 'opening') parentPort.postMessage('there');
    const engine = await opening;
    const add = () => engine.commit(
      [{ record: { space: 1, applicationId: '', key: 'k' }, expect: 'any', mutations: [{ type: 'add', name: 'n', delta: 1n }] }],
      { now: ${NOW}n, limits: DEFAULT_LIMITS }).then(() => parentPort.postMessage('added'), () => undefined);
    if (stage === 'busy' || stage === 'draining') for (let i = 0; i < 200; i++) void add();
    if (stage === 'draining') void engine.close();
    if (stage === 'closed') await engine.close();
    if (stage === 'busy') setInterval(() => { for (let i = 0; i < 50; i++) void add(); }, 1);
    if (stage !== 'opening') parentPort.postMessage('there');
    setInterval(() => undefined, 1000);
  })();`;

const KINDS = nativeStatus().loaded ? (['native', 'shared memory'] as const) : [];

describe.each(KINDS)('a thread with %s open', (kind) => {
  it.each(STAGES)('may be terminated while it is %s', async (stage) => {
    const place = kind === 'shared memory' ? `threads ${stage}` : join(scratch, `${kind} ${stage}`);
    const open = (): Promise<Engine> =>
      kind === 'shared memory'
        ? openSharedMemory({ name: place, cleanupInterval: 0 })
        : openLmdb({ path: place, implementation: 'native', durability: 'relaxed', cleanupInterval: 0 });
    const engine = await open();
    let acknowledged = 0;
    for (let round = 0; round < 6; round++) {
      const worker = new Worker(LIFE, { eval: true, workerData: { kind, place, stage } });
      worker.on('message', (message) => {
        if (message === 'added') acknowledged++;
      });
      await new Promise<void>((resolve, reject) => {
        worker.on('message', (message) => message === 'there' && resolve());
        worker.once('error', reject);
      });
      await new Promise((resolve) => setTimeout(resolve, round * 3));
      await worker.terminate();
      await add(engine);
      acknowledged++;
    }
    expect(counted(engine.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBeGreaterThanOrEqual(acknowledged);
    await engine.close();
    const again = await open();
    await add(again);
    expect(counted(again.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBeGreaterThan(acknowledged);
    await again.close();
  });
});

describe.each(IMPLEMENTATIONS)('LMDB, %s, open in the parent', (implementation) => {
  const CHILD = `
    const { openLmdb, DEFAULT_LIMITS } = await import(${JSON.stringify(PACKAGE)});
    const [path, implementation] = process.argv.slice(2);
    const backend = await openLmdb({ path, implementation, durability: 'relaxed' });
    await Promise.all(Array.from({ length: 100 }, () => backend.commit(
      [{ record: { space: 1, applicationId: '', key: 'k' }, expect: 'any', mutations: [{ type: 'add', name: 'n', delta: 1n }] }],
      { now: ${NOW}n, limits: DEFAULT_LIMITS })));
    await backend.close();
    process.disconnect();`;

  it('is opened anew by what child_process.fork starts', async () => {
    const path = join(scratch, `fork ${implementation}`);
    const program = join(scratch, 'child.mjs');
    writeFileSync(program, CHILD);
    const backend = await openLmdb({ path, implementation, durability: 'relaxed' });
    await add(backend);
    const ends = await Promise.all(
      Array.from({ length: 3 }, () => once(fork(program, [path, implementation]), 'exit')),
    );
    expect(ends).toEqual(Array.from({ length: 3 }, () => [0, null]));
    await add(backend);
    expect(counted(backend.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBe(302);
    await backend.close();
  });

  it('is opened anew by the workers of a cluster', () => {
    const program = join(scratch, 'cluster.mjs');
    writeFileSync(
      program,
      `import cluster from 'node:cluster';
      if (cluster.isPrimary) {
        const { openLmdb, DEFAULT_LIMITS } = await import(${JSON.stringify(PACKAGE)});
        const [path, implementation] = process.argv.slice(2);
        const backend = await openLmdb({ path, implementation, durability: 'relaxed' });
        const codes = await Promise.all([1, 2].map(() => new Promise((resolve) => cluster.fork().on('exit', resolve))));
        const { variables } = backend.loadSync({ space: 1, applicationId: '', key: 'k' }, ${NOW}n, DEFAULT_LIMITS);
        console.log(codes.join(' '), variables.get('n').value);
        await backend.close();
      } else { ${CHILD} }`,
    );
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [program, join(scratch, `cluster ${implementation}`), implementation],
      { encoding: 'utf8' },
    );
    expect({ stdout, stderr }).toEqual({ stdout: '0 0 200\n', stderr: '' });
  });
});
