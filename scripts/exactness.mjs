// Increments one variable from many threads, then from many processes, and compares the sum.
//
//     node scripts/exactness.mjs [--threads 8] [--thread-increments 20000] [--processes 8] [--process-increments 5000]
//                                [--implementation both] [--durability durable]
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { openLmdb } from 'wafstate';
import { count, implementationsOf, increment, inParallel } from './lmdb-load.js';

const FILE = fileURLToPath(import.meta.url);
const IN_FLIGHT = 256;
/** How often a load compares: a commit that was acknowledged must be seen at once. */
const LOOK_EVERY = 64;

/** One thread's or process's share. */
async function contribute({ open, increments }) {
  const backend = await openLmdb(open);
  await inParallel(increments, IN_FLIGHT, async (index) => {
    const [result] = await increment(backend, 'shared');
    if (index % LOOK_EVERY !== 0) return;
    const acknowledged = Number(result.values.get('count').value);
    const seen = count(backend, 'shared');
    if (seen < acknowledged) throw new Error(`a load saw ${seen} after ${acknowledged} was acknowledged`);
  });
  await backend.close();
}

function inThread(share) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(FILE, { workerData: { share } });
    worker.on('error', reject);
    worker.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`a thread ended with code ${code}`)),
    );
  });
}

function inProcess(share) {
  return new Promise((resolve, reject) => {
    const child = fork(FILE, ['--share', JSON.stringify(share)]);
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`a process ended with ${code ?? signal}`));
    });
  });
}

async function measure(kind, workers, increments, implementation, durability, run) {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-exactness-'));
  try {
    const open = { path: join(directory, 'state'), mapSize: 2 ** 28, implementation, durability };
    await (await openLmdb(open)).close();
    const begin = performance.now();
    await Promise.all(Array.from({ length: workers }, () => run({ open, increments })));
    const seconds = (performance.now() - begin) / 1000;
    const backend = await openLmdb({ ...open, readOnly: true });
    const sum = count(backend, 'shared');
    await backend.close();
    const expected = workers * increments;
    console.log(
      `${implementation} ${durability}: ${workers} ${kind} x ${increments} = ${sum}, expected ${expected}, ${Math.round(expected / seconds)}/s`,
    );
    if (sum !== expected) process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function main() {
  const { values } = parseArgs({
    options: {
      share: { type: 'string' },
      threads: { type: 'string', default: '8' },
      'thread-increments': { type: 'string', default: '20000' },
      processes: { type: 'string', default: '8' },
      'process-increments': { type: 'string', default: '5000' },
      implementation: { type: 'string', default: 'both' },
      durability: { type: 'string', default: 'durable' },
    },
  });
  if (values.share !== undefined) return contribute(JSON.parse(values.share));
  for (const implementation of implementationsOf(values.implementation)) {
    const { durability } = values;
    await measure(
      'threads',
      +values.threads,
      +values['thread-increments'],
      implementation,
      durability,
      inThread,
    );
    await measure(
      'processes',
      +values.processes,
      +values['process-increments'],
      implementation,
      durability,
      inProcess,
    );
  }
}

await (isMainThread ? main() : contribute(workerData.share));
