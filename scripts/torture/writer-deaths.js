// Threads that write natively and die, one after the other, under load: their JavaScript and their writer thread's is stopped wherever
// it is. Another thread and two other processes write all the while.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { openLmdb } from 'wafstate';
import { commit, compare, EMPTY_BASE, Journal, readAll, removeLanes } from './ledger.js';
import { inTime, WriterProcess } from './writer-process.js';

const WRITER = fileURLToPath(new URL('./writer.mjs', import.meta.url));
const DEATHS = ['terminate', 'exit', 'throw', 'heap'];
/** Threads that live at the same time. */
const AT_ONCE = 3;

/** Lets so many threads die. Returns figures and faults. */
export async function writerDeaths({ directory, open, random, deaths, onProgress }) {
  const journals = join(directory, 'journals');
  mkdirSync(journals);
  const totals = { deaths: 0, kinds: {}, acknowledged: 0, inDoubt: 0, inDoubtApplied: 0, faults: [] };
  const backend = await openLmdb(open);
  const setup = { open, journals, lanes: 8 };
  const others = ['other0', 'other1'].map((name) => ({
    name,
    writer: new WriterProcess({ ...setup, lanes: 4 }, {}),
  }));
  try {
    for (const { name, writer } of others) {
      await writer.says('ready');
      writer.send({ type: 'write', names: [name] });
      await writer.says('open');
    }
    for (let index = 0; index < deaths; index++) {
      const kinds = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, number) => die(setup, `d${index}n${number}`, random)),
      );
      for (const kind of kinds) totals.kinds[kind] = (totals.kinds[kind] ?? 0) + 1;
      totals.deaths += AT_ONCE;
      await inTime(
        commit(backend, `main${index}`, 1, 0),
        'a commit after the deaths of threads did not settle',
      );
      onProgress(totals);
      if (totals.deaths >= deaths) break;
    }
    for (const { writer } of others) {
      writer.send('pause');
      if (!(await writer.says('paused'))) totals.faults.push(`another process ended with ${writer.exit}`);
    }
    await check(backend, journals, totals);
  } catch (error) {
    totals.faults.push(error.message);
  }
  for (const { writer } of others) writer.kill();
  await inTime(backend.close(), 'close() did not settle');
  return totals;
}

function die(setup, name, random) {
  const kind = DEATHS[random.integer(0, DEATHS.length - 1)];
  const worker = new Worker(WRITER, {
    workerData: {
      setup,
      name,
      stop: new Int32Array(new SharedArrayBuffer(4)),
      death: { kind, after: random.integer(0, 60) },
    },
    ...(kind === 'heap' && { resourceLimits: { maxOldGenerationSizeMb: 24 } }),
  });
  if (kind === 'terminate') {
    const after = random.integer(0, 60);
    worker.on('message', () => setTimeout(() => worker.terminate(), after));
  }
  const ended = new Promise((resolve) => {
    worker.on('error', () => undefined);
    worker.on('exit', () => resolve(kind));
  });
  return inTime(ended, `a thread that should die by ${kind} lives on`);
}

/** The main thread's own lanes have no journal: they are taken for what they are, one commit each. */
async function check(backend, journals, totals) {
  const journal = new Journal();
  for (const file of readdirSync(journals)) journal.read(readFileSync(join(journals, file), 'utf8'));
  const mine = Array.from({ length: Math.ceil(totals.deaths / AT_ONCE) }, (_, index) => `main${index}`);
  for (const lane of mine) journal.read(`i ${lane} 1 0\n`);
  const result = compare(await readAll(backend), journal, EMPTY_BASE);
  totals.faults.push(...result.faults);
  totals.acknowledged = journal.acknowledged + mine.length;
  totals.inDoubt = result.inDoubt - mine.length;
  totals.inDoubtApplied = result.inDoubtApplied.length - mine.length;
  await removeLanes(backend, mine);
}
