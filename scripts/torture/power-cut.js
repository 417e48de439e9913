// Power cuts: a recorded run is cut at every point, and each copy that the disk might hold then is opened and held against
// what had been acknowledged.
import { fork } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { preloadLibrary } from './preload.js';
import { entriesOf, FILES, Replay, TREATMENTS } from './write-log.js';
import { WriterProcess } from './writer-process.js';

const CHILD = fileURLToPath(new URL('./power-cut-child.mjs', import.meta.url));
/** One copy in so many is opened for writing, which reads the list of free pages too. */
const WRITE_EVERY = 8;

/** Runs two writing threads for so long, and returns the log. */
export async function record({ directory, open, milliseconds }) {
  const journals = join(directory, 'journals');
  const log = join(directory, 'writes.log');
  mkdirSync(journals);
  const writer = new WriterProcess(
    { open, journals, lanes: 4 },
    {
      LD_PRELOAD: preloadLibrary('write-recorder'),
      WAFSTATE_RECORD_LOG: log,
      WAFSTATE_RECORD_DIRECTORY: open.path,
      WAFSTATE_RECORD_JOURNALS: journals,
    },
  );
  await writer.says('ready');
  writer.send({ type: 'write', names: ['a', 'b'] });
  await writer.says('open');
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  writer.send('pause');
  if (!(await writer.says('paused'))) throw new Error(`the recorded process ended with ${writer.exit}`);
  writer.kill();
  return readFileSync(log);
}

/** Answers for one copy at a time; started anew where a copy has taken it down. */
class Judge {
  #child;

  ask(question) {
    this.#child ??= fork(CHILD, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const child = this.#child;
    return new Promise((resolve) => {
      const end = (code, signal) => {
        this.#child = undefined;
        resolve({ crashed: signal ?? code });
      };
      child.once('exit', end);
      child.once('message', (answer) => {
        child.off('exit', end);
        resolve(answer);
      });
      child.send(question);
    });
  }

  stop() {
    this.#child?.kill();
  }
}

/**
 * Cuts `log` after each entry, or after a share of them, and judges a copy for each treatment of what was not synced then. Where
 * nothing is promised (`relaxed`) acknowledged commits may be missing, and what happens is only counted.
 */
export async function cut({ log, directory, open, random, share, onProgress }) {
  const relaxed = open.durability === 'relaxed';
  const copy = { ...open, path: join(directory, 'copy'), cleanupInterval: 0 };
  const judge = new Judge();
  const replay = new Replay();
  const totals = {
    cuts: 0,
    copies: 0,
    sound: 0,
    refused: 0,
    refusedBeforeFirstOpen: 0,
    crashed: 0,
    damaged: 0,
    older: 0,
    refusedAs: {},
  };
  const faults = [];
  const size = log.length;
  let read = 0;
  for (const entry of entriesOf(log)) {
    read += entry.bytes.length + 32;
    if (!replay.follow(entry) || !random.chance(share)) continue;
    totals.cuts++;
    for (const [name, treat] of treatments(replay)) {
      const fresh = ++totals.copies;
      lay(replay, treat, random, copy.path);
      const write = fresh % WRITE_EVERY === 0;
      const floor = relaxed ? 'sent' : 'acknowledged';
      const answer = await judge.ask({ open: copy, text: replay.journal, write, floor });
      const wrong = tally(totals, answer);
      if (wrong !== undefined && !relaxed) faults.push(`cut ${totals.cuts}, ${name}: ${wrong}`);
      onProgress(totals, read / size);
    }
  }
  judge.stop();
  if (replay.unseen !== undefined) faults.push(replay.unseen);
  return { ...totals, faults };
}

/** Where nothing waits for a sync, all come to the same. */
function treatments(replay) {
  const all = Object.entries(TREATMENTS);
  return [...replay.disks.values()].some(({ pending }) => pending.length > 0) ? all : all.slice(0, 1);
}

function lay(replay, treat, random, directory) {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, 'gate'), { recursive: true });
  for (const [file, disk] of replay.disks) {
    const path = join(directory, FILES[file]);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, afterRestart(disk.image(treat(disk.pending, random))));
  }
}

/** liblmdb notes the start of the machine in both meta pages; the next one is another. */
function afterRestart(image) {
  for (const page of [0, 4096]) {
    const at = page + 24 + 136;
    if (image.length >= at + 8 && image.readUInt32LE(at) !== 0) image.writeUInt8(image[at] ^ 0xff, at);
  }
  return image;
}

/** What is wrong where everything is promised. */
function tally(totals, answer) {
  if (answer.crashed !== undefined) {
    totals.crashed++;
    return `the process that opened it ended with ${answer.crashed}`;
  }
  if (answer.refused !== undefined) {
    // Nobody had been told that the environment was there.
    if (!answer.opened && answer.refused === 'corrupt_data') {
      totals.refusedBeforeFirstOpen++;
      return undefined;
    }
    if (!answer.opened && answer.refused === 'not_found') {
      totals.sound++;
      return undefined;
    }
    totals.refused++;
    totals.refusedAs[answer.refused] = (totals.refusedAs[answer.refused] ?? 0) + 1;
    return `refused as ${answer.refused}: ${answer.message}`;
  }
  if (answer.lost > 0) totals.older++;
  if (answer.faults.length === 0) totals.sound++;
  else totals.damaged++;
  return answer.faults[0];
}
