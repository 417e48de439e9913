// Increments in a process or thread of its own: node increment-worker.mjs PATH COUNT KEYS MAXSIZE
import { isMainThread, workerData } from 'node:worker_threads';
import { loadStores } from 'wafstate/store';

const [path, count, keys, maxSize] = isMainThread ? process.argv.slice(2) : workerData;
const stores = await loadStores({
  entries: [
    { name: 'main', kind: 'engine.lmdb', path, durability: 'relaxed' },
    {
      name: 'counters',
      kind: 'store.lmdb',
      database: 'main',
      namespace: 'counters',
      max_size: Number(maxSize),
      lifecycle: { auto_start: true },
    },
  ],
});
const store = await stores.open('counters');
let full = 0;
const seen = new Set();
await Promise.all(
  Array.from({ length: 16 }, async (_, lane) => {
    for (let index = lane; index < Number(count); index += 16) {
      try {
        const { value, version } = await store.increment(`key ${index % Number(keys)}`);
        seen.add(`${index % Number(keys)} ${value} ${version}`);
      } catch (error) {
        if (error.code !== 'store_full') throw error;
        full++;
      }
    }
  }),
);
await stores.close();
if (seen.size + full !== Number(count)) throw new Error('two increments had the same result');
if (isMainThread) process.stdout.write(`${full}\n`);
