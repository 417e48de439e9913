// Counts requests of clients that never come twice, by several threads in one table, and sees that its memory stays bounded, that a client
// which does come again is not forgotten for them, and that nothing is miscounted.
//
//   node scripts/key-flood.mjs [--keys 10000000] [--threads 2] [--bytes 67108864] [--engine shared|memory]
//
// In memory (TypeScript) each thread has an engine of its own, of --bytes / 1024 records. Ends with code 1 where a bound is broken.

import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { DEFAULT_LIMITS, nativeStatus, openMemory, openSharedMemory } from 'wafstate';

const NOW = 4_000_000_000_000_000_000n;
/** The regular client comes once in so many requests. */
const REGULAR_EVERY = 1000;
const SLACK_BYTES = 128 * 2 ** 20;

const record = (key) => ({ space: 1, applicationId: '', key });
const options = { now: NOW, limits: DEFAULT_LIMITS };
const mutations = [{ type: 'add', name: 'requests', delta: 1n }];
const count = (backend, key) => backend.commit([{ record: record(key), expect: 'any', mutations }], options);

const open = (engine, bytes) =>
  engine === 'shared'
    ? openSharedMemory({ name: 'key flood', maxBytes: bytes, cleanupInterval: 0 })
    : openMemory({ maxRecords: Math.floor(bytes / 1024), cleanupInterval: 0 });

/** What is wrong with the table at this moment. */
function beyond(backend, engine, bytes) {
  const stats = backend.stats();
  if (engine === 'shared' && stats.bytes > bytes)
    return `${stats.bytes} bytes are held, maxBytes allows ${bytes}`;
  if (engine === 'memory' && stats.records > Math.floor(bytes / 1024))
    return `${stats.records} records are held`;
  return undefined;
}

async function flood({ engine, bytes, keys, thread }) {
  const backend = await open(engine, bytes);
  const regular = `regular ${thread}`;
  for (let number = 0; number < keys; number++) {
    await count(backend, `client ${thread} ${number}`);
    if (number % REGULAR_EVERY !== 0) continue;
    await count(backend, regular);
    const fault = beyond(backend, engine, bytes);
    if (fault !== undefined) throw new Error(fault);
  }
  const counted = Number(
    backend.loadSync(record(regular), NOW, DEFAULT_LIMITS).variables.get('requests')?.value ?? 0,
  );
  const { records } = backend.stats();
  parentPort.postMessage({ counted, expected: Math.ceil(keys / REGULAR_EVERY), records });
  await backend.close();
}

async function run(engine, { keys, threads, bytes }) {
  // The table lives as long as somebody has it open.
  const holder = await open(engine, bytes);
  const before = process.memoryUsage.rss();
  const begin = performance.now();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 50);
  const share = Math.ceil(keys / threads);
  const answers = await Promise.all(
    Array.from({ length: threads }, (_, thread) => {
      const worker = new Worker(new URL(import.meta.url), {
        workerData: { engine, bytes, keys: share, thread },
      });
      return new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
    }),
  );
  clearInterval(watch);
  const seconds = (performance.now() - begin) / 1000;
  const faults = answers
    .filter(({ counted, expected }) => counted !== expected)
    .map(({ counted, expected }) => `a client that came ${expected} times was counted ${counted} times`);
  const grown = most - before;
  const bound = (engine === 'shared' ? bytes : threads * bytes) + threads * SLACK_BYTES;
  if (grown > bound) faults.push(`resident memory grew by ${mib(grown)}, ${mib(bound)} was allowed`);
  const records =
    engine === 'shared' ? holder.stats().records : answers.reduce((sum, each) => sum + each.records, 0);
  await holder.close();
  console.log(
    `${engine}: ${share * threads} keys by ${threads} threads in ${seconds.toFixed(0)} s, ${records} records at the end, resident memory grew by ${mib(grown)} at most; ${faults.length === 0 ? 'bounded' : faults.join('; ')}`,
  );
  return faults.length;
}

const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;

if (isMainThread) {
  const { values } = parseArgs({
    options: {
      keys: { type: 'string', default: '10000000' },
      threads: { type: 'string', default: '2' },
      bytes: { type: 'string', default: String(2 ** 26) },
      engine: { type: 'string' },
    },
  });
  const figures = { keys: Number(values.keys), threads: Number(values.threads), bytes: Number(values.bytes) };
  let faults = 0;
  for (const engine of values.engine === undefined ? ['shared', 'memory'] : [values.engine]) {
    if (engine === 'shared' && !nativeStatus().loaded)
      console.log(`shared: left out, ${nativeStatus().reason}`);
    else faults += await run(engine, figures);
  }
  process.exitCode = faults === 0 ? 0 : 1;
} else await flood(workerData);
