// Requests for as long as it takes to see whether memory stays level, on one engine or all of them:
//
//   node scripts/soak.mjs [--requests 5000000] [--engine memory|shared|native|typescript]
//
// A request is a cycle of its own: begin, bind an address of a hundred thousand, count, set, expire, flush, close. The
// first fifth warms up; then heap and resident memory must not grow by more than a fifth and 32 MiB. Ends with code 1 where they do.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Collections, nativeStatus, openLmdb, openMemory, openSharedMemory } from 'wafstate';

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '5000000' }, engine: { type: 'string' } },
});
const requests = Number(values.requests);
if (!Number.isSafeInteger(requests) || requests < 1000) {
  console.error('--requests must be an integer from 1000');
  process.exit(2);
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
const scratch = mkdtempSync(join(tmpdir(), 'wafstate-soak-'));
const CLIENTS = 100_000;
const TOGETHER = 500;
const SLACK_BYTES = 32 * 2 ** 20;

const lmdb = (implementation) => () =>
  openLmdb({
    path: join(scratch, implementation),
    implementation,
    durability: 'relaxed',
    mapSize: 2 ** 29,
    cleanupInterval: 5,
  });
const ENGINES = {
  memory: () => openMemory({ maxRecords: CLIENTS / 2 }),
  shared: () => openSharedMemory({ name: 'soak', maxBytes: 2 ** 24 }),
  native: lmdb('native'),
  typescript: lmdb('typescript'),
};

async function request(collections, number) {
  const tx = collections.begin();
  await tx.bind('ip', `client ${(number * 7919) % CLIENTS}`);
  tx.add('ip', 'requests', 1);
  tx.set('ip', 'agent', `agent ${number % 50}`);
  tx.expire('ip', 'requests', 2);
  await tx.flush();
  tx.close();
}

async function run(collections, from, to) {
  for (let number = from; number < to; ) {
    const together = [];
    for (const end = Math.min(to, number + TOGETHER); number < end; number++)
      together.push(request(collections, number));
    await Promise.all(together);
  }
}

function memory() {
  collectGarbage();
  const { heapUsed, rss, external } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
let failed = false;
for (const [name, open] of Object.entries(ENGINES)) {
  if (values.engine !== undefined && values.engine !== name) continue;
  if (name !== 'memory' && name !== 'typescript' && !nativeStatus().loaded) {
    console.log(`${name}: left out, ${nativeStatus().reason}`);
    continue;
  }
  const backend = await open();
  const collections = new Collections({ backend });
  const warm = Math.floor(requests / 5);
  await run(collections, 0, warm);
  const before = memory();
  await run(collections, warm, requests);
  const after = memory();
  await backend.close();
  const grew = ['heap', 'rss'].filter((what) => after[what] > before[what] * 1.2 + SLACK_BYTES);
  failed ||= grew.length > 0;
  console.log(
    `${name}: ${requests} requests, heap ${mib(before.heap)} -> ${mib(after.heap)}, resident ${mib(before.rss)} -> ${mib(after.rss)}${grew.length > 0 ? `: ${grew.join(' and ')} grew` : ', level'}`,
  );
}
rmSync(scratch, { recursive: true });
process.exitCode = failed ? 1 : 0;
