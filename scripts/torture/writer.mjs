// A process under torture: writes in its main thread and in threads of its own, until it is told to pause or to end, or is killed.
//
// Messages from the parent: { type: 'write', names: [one for each thread], killAt, drains }, { type: 'end', kind, thread } and 'pause'; to
// it: 'writing' when it has begun, 'open' when the main thread's first commit is acknowledged, 'paused' when everything is acknowledged and closed.
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { openLmdb } from 'wafstate';
import { acknowledgementLine, commit, intentLine, OPENED_LINE, PAIRS } from './ledger.js';

const die = () => process.kill(process.pid, 'SIGKILL');

/** Writes by so many lanes until `stopped()`. `killAt`: { step: 'sent' | 'acknowledged', nth }. */
async function write({ open, journals, lanes }, { name, stopped, killAt, onOpen, onFirst }) {
  const journal = openSync(join(journals, name), 'a');
  const backend = await openLmdb(open);
  writeSync(journal, OPENED_LINE);
  onOpen?.(backend);
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
      if (++acknowledged === 1) onFirst?.();
      if (killAt?.step === 'acknowledged' && acknowledged === killAt.nth) die();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  await backend.close();
}

function startThread(setup, name, stop) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { setup, name, stop } });
  const ended = new Promise((resolve, reject) => {
    worker.on('error', reject);
    worker.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`a thread ended with code ${code}`)),
    );
  });
  return { worker, ended };
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
  let threads = [];
  let backend;
  const writeAll = async ({ names: [own, ...others], killAt, drains }) => {
    stop = new Int32Array(new SharedArrayBuffer(4));
    const mine = stop;
    const writing = write(setup, {
      name: own,
      stopped: () => Atomics.load(mine, 0) === 1,
      killAt,
      onOpen: (opened) => (backend = opened),
      onFirst: () => process.send('open'),
    });
    threads = others.map((name) => startThread(setup, name, mine));
    const all = Promise.all([writing, ...threads.map(({ ended }) => ended)]);
    if (drains === true) process.once('SIGTERM', () => drain(mine, all));
    process.send('writing');
    try {
      await all;
    } catch (error) {
      // Errors of threads have lost their code.
      if (!error.message.includes('writerTimeout')) throw error;
      process.send('lost', () => process.exit(1));
      return;
    }
    process.send('paused');
  };
  /** As an application does it: no more requests, then close() while commits are in flight. */
  const drain = async (stopping, all) => {
    Atomics.store(stopping, 0, 1);
    await backend?.close();
    await all;
    process.exit(0);
  };
  process.on('message', (message) => {
    if (message === 'pause') Atomics.store(stop, 0, 1);
    else if (message.type === 'write') void writeAll(message);
    else if (message.thread) threads[0].worker.postMessage(message.kind);
    else end(message.kind);
  });
  process.on('disconnect', () => process.exit(0));
  process.send('ready');
}

if (isMainThread) await serve(JSON.parse(process.argv[2]));
else {
  const { setup, name, stop, death } = workerData;
  parentPort.on('message', end);
  parentPort.unref();
  await write(setup, {
    name,
    stopped: () => Atomics.load(stop, 0) === 1,
    onFirst: () => {
      parentPort.postMessage('open');
      if (death !== undefined) setTimeout(() => end(death.kind), death.after);
    },
  });
}
