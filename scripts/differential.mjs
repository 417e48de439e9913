// Compares the C++ and the TypeScript record on generated (record, batch) pairs, a third of them hostile:
//
//   npm run differential -- --pairs 1000000 --seed 1
//
// Ends with code 1 at the first difference and prints the pair as hex, without what the difference does not
// need; `--pairs 1 --first N` with the same seed makes that pair again. The tests run a sample of the same.
// `--corpus DIR` compares on what the fuzzer has kept there instead, such as build/fuzz/corpus.

import { parseArgs } from 'node:util';
import { runnerImport } from 'vite';

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '1000000' },
    first: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    corpus: { type: 'string' },
  },
});
const pairs = Number(values.pairs);
const first = Number(values.first);
const seed = Number(values.seed);
if (![pairs, first, seed].every((number) => Number.isSafeInteger(number) && number >= 0)) {
  console.error('--pairs, --first and --seed must be integers from 0');
  process.exit(2);
}

const root = new URL('..', import.meta.url).pathname;
const load = async (path) =>
  (await runnerImport(path, { root, configFile: false, logLevel: 'error' })).module;
const { compare, coverage, describe, difference } = await load('./test/record/differential.ts');
const { corpusPairs } = await load('./test/record/fuzz-input.ts');
const { typescriptCodec } = await load('./src/record/typescript/codec.ts');
const { NativeCodec } = await load('./src/record/native-codec.ts');
const { loadAddon, nativeStatus } = await load('./src/record/addon.ts');

const addon = loadAddon();
if (addon === undefined) {
  console.error(`the addon is not loaded: ${nativeStatus().reason}`);
  process.exit(2);
}

const native = new NativeCodec(addon);
if (values.corpus !== undefined) {
  let compared = 0;
  for (const { file, pair } of corpusPairs(values.corpus)) {
    const what = difference(native, typescriptCodec, pair);
    if (what !== undefined) {
      console.error(`${file}: native and TypeScript differ in ${what}\n${describe(pair)}`);
      process.exit(1);
    }
    compared++;
  }
  console.log(`${compared} pairs of ${values.corpus} agree`);
  process.exit(0);
}
const seen = coverage();
const started = process.hrtime.bigint();
const seconds = () => Number(process.hrtime.bigint() - started) / 1e9;
const STEP = 10_000;
for (let done = 0; done < pairs; done += STEP) {
  const from = first + done;
  const found = compare(native, typescriptCodec, seed, from, from + Math.min(STEP, pairs - done), seen);
  if (found !== undefined) {
    if (process.stdout.isTTY) process.stdout.write('\n');
    console.error(`seed ${seed}, pair ${found.index}: native and TypeScript differ in ${found.what}`);
    console.error(describe(found.pair));
    process.exit(1);
  }
  if (process.stdout.isTTY) {
    process.stdout.write(`\r${seen.pairs} of ${pairs} pairs, ${Math.round(seen.pairs / seconds())}/s `);
  }
}
if (process.stdout.isTTY) process.stdout.write('\n');
const list = (map) =>
  [...map]
    .sort(([a], [b]) => a - b)
    .map(([key, count]) => `${key}: ${count}`)
    .join(', ');
console.log(`answers by status: ${list(seen.statuses)}`);
console.log(`records by reason of corruption (0 = sound): ${list(seen.corruptions)}`);
console.log(`${seen.pairs} pairs agree (seed ${seed}), ${seconds().toFixed(1)} s`);
