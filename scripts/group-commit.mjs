// Durable commits per second, one at a time and a thousand in flight.
//
//     node scripts/group-commit.mjs [--implementation both] [--seconds 3] [--least 50] [--directory DIR]
//
// Ends with code 1 where the second is not at least `--least` times the first. The disk under the directory must be one
// that syncs: on tmpfs the ratio says nothing.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openLmdb } from 'wafstate';
import { implementationsOf, increment } from './lmdb-load.js';

const IN_FLIGHT = 1000;
const KEYS = 10_000;

const { values } = parseArgs({
  options: {
    implementation: { type: 'string', default: 'both' },
    seconds: { type: 'string', default: '3' },
    least: { type: 'string', default: '50' },
    directory: { type: 'string', default: tmpdir() },
  },
});

async function rate(backend, lanes, seconds) {
  let done = 0;
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const lane = async () => {
    while (performance.now() < end) {
      await increment(backend, `key ${done % KEYS}`);
      done++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return done / ((performance.now() - begin) / 1000);
}

for (const implementation of implementationsOf(values.implementation)) {
  const directory = mkdtempSync(join(values.directory, 'wafstate-group-commit-'));
  const backend = await openLmdb({ path: directory, mapSize: 2 ** 30, implementation });
  try {
    await rate(backend, IN_FLIGHT, 1);
    const one = await rate(backend, 1, +values.seconds);
    const many = await rate(backend, IN_FLIGHT, +values.seconds);
    const ratio = many / one;
    console.log(
      `${implementation}: one at a time ${Math.round(one)}/s, ${IN_FLIGHT} in flight ${Math.round(many)}/s, ratio ${Math.round(ratio)}`,
    );
    if (ratio < +values.least) process.exitCode = 1;
  } finally {
    await backend.close();
    rmSync(directory, { recursive: true });
  }
}
