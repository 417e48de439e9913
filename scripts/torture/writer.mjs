// A process of the kill torture: writes in its main thread and in threads of its own, until it is told to pause or is killed.
//
// Messages from the parent: { type: 'write', names: [one for each thread], killAt } and 'pause'; to it: 'open' when the main
// thread's first commit is acknowledged, 'paused' when everything is acknowledged and closed.
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openLmdb } from 'wafstate';
import { acknowledgementLine, commit, intentLine, OPENED_LINE, PAIRS } from './ledger.js';

const die = () => process.kill(process.pid, 'SIGKILL');

/** Writes by so many lanes until `stopped()`. `killAt`: { step: 'sent' | 'acknowledged', nth }. */
async function write({ open, journals, lanes }, name, stopped, killAt, onFirst) {
  const journal = openSync(join(journals, name), 'a');
  const backend = await openLmdb(open);
  writeSync(journal, OPENED_LINE);
  let sent = 0;
  let acknowledged = 0;
  const lane = async (_, number) => {
    const id = `${name}.${number}`;
    for (let sequence = 1; !stopped(); sequence++) {
      const pair = Math.floor(Math.random() * PAIRS);
      writeSync(journal, intentLine(id, sequence, pair));
      const promise = commit(backend, id, sequence, pair);
      if (killAt?.step === 'sent' && ++sent === killAt.nth) die();
      const results = await promise;
      writeSync(journal, acknowledgementLine(id, sequence, results));
      if (++acknowledged === 1) onFirst();
      if (killAt?.step === 'acknowledged' && acknowledged === killAt.nth) die();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await backend.close();
}

function inThread(setup, name, stop) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { setup, name, stop } });
    worker.on('error', reject);
    worker.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`a thread ended with code ${code}`)),
    );
  });
}

/** Ends this thread by itself; 'terminate' is for whoever started it. */
function end(kind) {
  if (kind === 'exit') process.exit(1);
  if (kind === 'throw') throw new Error('thrown to end this thread');
  const hoard = [];
  while (kind === 'heap') hoard.push(new Array(10_000).fill(hoard.length));
}

async function serve(setup) {
  let stop;
  process.on('message', async (message) => {
    if (message === 'pause') {
      Atomics.store(stop, 0, 1);
      return;
    }
    stop = new Int32Array(new SharedArrayBuffer(4));
    const mine = stop;
    const [own, ...others] = message.names;
    const writing = Promise.all([
      write(
        setup,
        own,
        () => Atomics.load(mine, 0) === 1,
        message.killAt,
        () => process.send('open'),
      ),
      ...others.map((name) => inThread(setup, name, mine)),
    ]);
    try {
      await writing;
    } catch (error) {
      // Errors of threads have lost their code.
      if (!error.message.includes('writerTimeout')) throw error;
      process.send('lost', () => process.exit(1));
      return;
    }
    process.send('paused');
  });
  process.on('disconnect', () => process.exit(0));
  process.send('ready');
}

if (isMainThread) await serve(JSON.parse(process.argv[2]));
else {
  const { setup, name, stop, death } = workerData;
  await write(
    setup,
    name,
    () => Atomics.load(stop, 0) === 1,
    undefined,
    () => {
      parentPort.postMessage('open');
      if (death !== undefined) setTimeout(() => end(death.kind), death.after);
    },
  );
}
