// Ends processes by process.exit() while they commit with all their might, and sees that they end and lose nothing.
//
//     node scripts/exit-storm.mjs [--runs 100] [--implementation both] [--durability durable]
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openLmdb } from 'wafstate';
import { count, implementationsOf, increment } from './lmdb-load.js';

const IN_FLIGHT = 1000;
const PATIENCE_MILLISECONDS = 30_000;

/** Commits until it exits in mid-flight, and writes how many were acknowledged. */
async function child({ open, key, after }) {
  const backend = await openLmdb(open);
  let acknowledged = 0;
  process.on('exit', () => writeSync(1, `${acknowledged}\n`));
  setTimeout(() => process.exit(0), after);
  const lane = async () => {
    for (;;) {
      await increment(backend, key);
      acknowledged++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

function run(share) {
  return new Promise((resolve) => {
    const process = fork(fileURLToPath(import.meta.url), ['--share', JSON.stringify(share)], {
      silent: true,
    });
    let output = '';
    process.stdout.on('data', (chunk) => (output += chunk));
    process.stderr.on('data', (chunk) => (output += chunk));
    const timer = setTimeout(() => process.kill('SIGKILL'), PATIENCE_MILLISECONDS);
    process.on('close', (code, signal) => {
      clearTimeout(timer);
      const acknowledged = Number(output);
      resolve(
        code === 0 && Number.isInteger(acknowledged)
          ? { acknowledged }
          : { failure: `${code ?? signal} ${output}` },
      );
    });
  });
}

async function storm(runs, implementation, durability) {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-exit-'));
  try {
    const open = { path: join(directory, 'state'), mapSize: 2 ** 28, implementation, durability };
    await (await openLmdb(open)).close();
    let ended = 0;
    let lost = 0;
    let commits = 0;
    for (let index = 0; index < runs; index++) {
      const key = `run ${index}`;
      const { acknowledged, failure } = await run({ open, key, after: 20 + Math.random() * 300 });
      if (failure !== undefined) {
        console.error(`run ${index}: ${failure}`);
        continue;
      }
      ended++;
      commits += acknowledged;
      const backend = await openLmdb({ ...open, readOnly: true });
      if (count(backend, key) < acknowledged) lost++;
      await backend.close();
    }
    console.log(
      `${implementation} ${durability}: ${ended} of ${runs} ended, ${commits} commits acknowledged, runs that lost some: ${lost}`,
    );
    if (ended !== runs || lost !== 0) process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const { values } = parseArgs({
  options: {
    share: { type: 'string' },
    runs: { type: 'string', default: '100' },
    implementation: { type: 'string', default: 'both' },
    durability: { type: 'string', default: 'durable' },
  },
});
if (values.share !== undefined) await child(JSON.parse(values.share));
else
  for (const implementation of implementationsOf(values.implementation))
    await storm(+values.runs, implementation, values.durability);
