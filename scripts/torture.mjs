// Kills processes that write, and sees that nothing acknowledged is lost. See --help, and docs/reliability.md.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nativeStatus } from 'wafstate';
import { Random } from './random.js';
import { KillRounds } from './torture/kill-rounds.js';
import { cut, record } from './torture/power-cut.js';
import { stops } from './torture/stops.js';
import { writerDeaths } from './torture/writer-deaths.js';

const HELP = `npm run torture -- [--rounds N] [--native | --typescript] [--durability durable|relaxed]
                   [--seed N] [--directory DIR] [--json]
npm run torture -- --power-cuts SHARE [--milliseconds N] [and the same options]
npm run torture -- --writer-deaths N [and the same options]; natively only
npm run torture -- --stops N [and the same options]

Two processes of two writing threads each commit to one LMDB environment. In each round one of them, in some rounds both, is
killed by SIGKILL: at a random moment, or at a named step of the write path. Then the environment is opened again and every record is
held against the journal of what was sent and acknowledged.

  --rounds N       rounds for each implementation and durability (default 20)
  --native         only the native implementation; --typescript: only the other (default: both)
  --durability D   only this durability (default: both)
  --seed N         the seed of what is random (default: by the clock; it is printed)
  --directory DIR  where the environments are made (default: the system's temporary directory)
  --json           print one line of JSON at the end instead of text

  --power-cuts SHARE   instead of killing, records the writes and syncs of two threads and cuts the power after that share of them,
                   1 = all: what was not synced by then is dropped, kept, reordered and torn in copies, which are opened
  --writer-deaths N    instead, so many threads that write are terminated, exit, throw or run out of heap, while another thread
                   and two other processes write
  --stops N        instead, ends so many processes under load by SIGTERM, process.exit(), an error that nobody catches, in the main
                   thread or another, or by close() at SIGTERM
  --milliseconds N how long they write for that (default 300)

Ends with status 1 where anything was lost, torn or hanging, and names it.
`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    native: { type: 'boolean', default: false },
    typescript: { type: 'boolean', default: false },
    durability: { type: 'string' },
    seed: { type: 'string' },
    directory: { type: 'string', default: tmpdir() },
    'power-cuts': { type: 'string' },
    'writer-deaths': { type: 'string' },
    stops: { type: 'string' },
    milliseconds: { type: 'string', default: '300' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

function implementations() {
  if (values.native !== values.typescript) return [values.native ? 'native' : 'typescript'];
  return nativeStatus().loaded ? ['native', 'typescript'] : ['typescript'];
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

async function killRounds(implementation, durability, rounds, seed) {
  const directory = realpathSync(mkdtempSync(join(values.directory, 'wafstate-torture-')));
  const open = {
    path: join(directory, 'state'),
    mapSize: 2 ** 28,
    implementation,
    durability,
    cleanupInterval: 0.2,
    writerTimeout: 10,
    ...(durability === 'relaxed' && { syncInterval: 0.05 }),
  };
  const torture = new KillRounds({ directory, open, random: new Random(seed) });
  const begin = performance.now();
  try {
    await torture.start();
    for (let round = 1; round <= rounds; round++) {
      await torture.round();
      progress(`${implementation} ${durability}: ${round} of ${rounds} rounds`);
    }
  } catch (error) {
    torture.totals.faults.push(error.message);
  }
  torture.stop();
  progress('');
  rmSync(directory, { recursive: true, force: true });
  const seconds = Math.round((performance.now() - begin) / 1000);
  return { implementation, durability, ...torture.totals, seconds };
}

async function powerCuts(implementation, durability, share, seed) {
  const directory = realpathSync(mkdtempSync(join(values.directory, 'wafstate-power-cut-')));
  const open = {
    path: join(directory, 'state'),
    mapSize: 2 ** 26,
    implementation,
    durability,
    ...(durability === 'relaxed' && { syncInterval: 0.05 }),
  };
  const begin = performance.now();
  try {
    const log = await record({ directory, open, milliseconds: Number(values.milliseconds) });
    const onProgress = ({ copies, damaged, crashed }, done) =>
      progress(
        `${implementation} ${durability}: ${copies} copies (${Math.round(done * 100)} %), ${damaged} damaged, ${crashed} crashes`,
      );
    const random = new Random(seed);
    const totals = await cut({ log, directory, open, random, share, onProgress });
    progress('');
    return { implementation, durability, ...totals, seconds: Math.round((performance.now() - begin) / 1000) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function stopsOfProcesses(implementation, durability, count, seed) {
  const directory = realpathSync(mkdtempSync(join(values.directory, 'wafstate-stops-')));
  const open = { path: join(directory, 'state'), mapSize: 2 ** 28, implementation, durability };
  const begin = performance.now();
  try {
    const onProgress = (totals) =>
      progress(`${implementation} ${durability}: ${totals.stops} of ${count} processes stopped`);
    const totals = await stops({ directory, open, random: new Random(seed), count, onProgress });
    progress('');
    const seconds = Math.round((performance.now() - begin) / 1000);
    return { implementation, durability, ...totals, seconds };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function deathsOfWriters(durability, deaths, seed) {
  const directory = realpathSync(mkdtempSync(join(values.directory, 'wafstate-deaths-')));
  const open = { path: join(directory, 'state'), mapSize: 2 ** 28, implementation: 'native', durability };
  const begin = performance.now();
  try {
    const onProgress = (totals) =>
      progress(`native ${durability}: ${totals.deaths} of ${deaths} threads died`);
    const totals = await writerDeaths({ directory, open, random: new Random(seed), deaths, onProgress });
    progress('');
    const seconds = Math.round((performance.now() - begin) / 1000);
    return { implementation: 'native', durability, ...totals, seconds };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function reportFigures(run) {
  const { implementation, durability, seconds, faults, ...figures } = run;
  const text = Object.entries(figures).map(([name, figure]) => `${name} ${JSON.stringify(figure)}`);
  console.log(`${implementation} ${durability} in ${seconds} s: ${text.join(', ')}; ${faults.length} faults`);
  for (const fault of faults.slice(0, 50)) console.log(`  FAULT ${fault}`);
}

function report(run) {
  const { implementation, durability, rounds, seconds, acknowledged, inDoubt, inDoubtApplied, faults } = run;
  console.log(
    `${implementation} ${durability}: ${rounds} rounds in ${seconds} s, ${acknowledged} commits acknowledged, ${inDoubt} in doubt at a kill, of which ${inDoubtApplied} were applied; ${run.declaredLost} writers declared lost; ${faults.length} faults`,
  );
  for (const [step, times] of Object.entries(run.kills).sort()) console.log(`  ${step}: ${times}`);
  for (const fault of faults.slice(0, 50)) console.log(`  FAULT ${fault}`);
}

if (values.help) process.stdout.write(HELP);
else {
  const seed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed);
  const runs = [];
  const deaths = values['writer-deaths'];
  for (const implementation of deaths === undefined ? implementations() : ['native']) {
    for (const durability of values.durability === undefined ? ['durable', 'relaxed'] : [values.durability]) {
      if (deaths !== undefined) {
        runs.push(await deathsOfWriters(durability, Number(deaths), seed));
        if (!values.json) reportFigures(runs.at(-1));
      } else if (values.stops !== undefined) {
        runs.push(await stopsOfProcesses(implementation, durability, Number(values.stops), seed));
        if (!values.json) reportFigures(runs.at(-1));
      } else if (values['power-cuts'] === undefined) {
        runs.push(await killRounds(implementation, durability, Number(values.rounds), seed));
        if (!values.json) report(runs.at(-1));
      } else {
        runs.push(await powerCuts(implementation, durability, Number(values['power-cuts']), seed));
        if (!values.json) reportFigures(runs.at(-1));
      }
    }
  }
  const faults = runs.reduce((sum, run) => sum + run.faults.length, 0);
  if (values.json) console.log(JSON.stringify({ seed, faults, runs }));
  else console.log(`seed ${seed}: ${faults === 0 ? 'nothing was lost' : `${faults} faults`}`);
  process.exitCode = faults === 0 ? 0 : 1;
}
