// Ends of processes that are not kills: signals, process.exit() and errors that nobody catches, all in the middle of the load. Two
// processes of two writing threads each are ended at random moments; then the environment is opened again and held against the journals.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openLmdb } from 'wafstate';
import { EMPTY_BASE } from './ledger.js';
import { reopen } from './reopen.js';
import { inTime, WriterProcess } from './writer-process.js';

/** How a process is told, and how it must end. `drain`: closes at SIGTERM, so that everything has settled when it ends. */
const STOPS = {
  SIGTERM: { tell: (writer) => writer.signal('SIGTERM'), exit: 'SIGTERM' },
  drain: { tell: (writer) => writer.signal('SIGTERM'), exit: 0, drains: true },
  exit: { tell: (writer) => writer.send({ type: 'end', kind: 'exit' }), exit: 1 },
  throw: { tell: (writer) => writer.send({ type: 'end', kind: 'throw' }), exit: 1 },
  'exit of a thread': { tell: (writer) => writer.send({ type: 'end', kind: 'exit', thread: true }), exit: 1 },
  'throw in a thread': {
    tell: (writer) => writer.send({ type: 'end', kind: 'throw', thread: true }),
    exit: 1,
  },
};
const KINDS = Object.keys(STOPS);
const LONGEST_PAUSE_MILLISECONDS = 300;

/** Stops so many processes. Returns figures and faults. */
export async function stops({ directory, open, random, count, onProgress }) {
  const journals = join(directory, 'journals');
  mkdirSync(journals);
  const totals = {
    stops: 0,
    kinds: {},
    acknowledged: 0,
    inDoubt: 0,
    inDoubtApplied: 0,
    slowestMilliseconds: 0,
    faults: [],
  };
  await (await openLmdb(open)).close();
  const start = () => new WriterProcess({ open, journals, lanes: 8 }, {});
  // Started ahead, so that their start does not count.
  let next = [start(), start()];
  let base = EMPTY_BASE;
  try {
    while (totals.stops < count) {
      const writers = next;
      // Every kind in turn, each with every other sooner or later.
      const kinds = [KINDS[(totals.stops / 2) % KINDS.length], KINDS[random.integer(0, KINDS.length - 1)]];
      await Promise.all(writers.map((writer) => writer.says('ready')));
      const name = (number) => `r${totals.stops}p${number}`;
      const ends = await Promise.all(
        writers.map((writer, number) => stop(writer, name(number), kinds[number], random)),
      );
      next = [start(), start()];
      const result = await reopen(open, journals, base);
      totals.faults.push(...ends.flatMap(({ faults }) => faults), ...result.faults);
      for (const lane of result.inDoubtApplied) {
        if (kinds.some((kind, number) => kind === 'drain' && lane.startsWith(name(number)))) {
          totals.faults.push(`lane ${lane}: a commit was applied, but did not settle before close() did`);
        }
      }
      base = result.base;
      for (const kind of kinds) totals.kinds[kind] = (totals.kinds[kind] ?? 0) + 1;
      totals.stops += kinds.length;
      totals.acknowledged += result.acknowledged;
      totals.inDoubt += result.inDoubt;
      totals.inDoubtApplied += result.inDoubtApplied.length;
      totals.slowestMilliseconds = Math.max(
        totals.slowestMilliseconds,
        ...ends.map(({ milliseconds }) => milliseconds),
      );
      onProgress(totals);
    }
  } catch (error) {
    totals.faults.push(error.message);
  }
  for (const writer of next) writer.kill();
  return totals;
}

/** The time is from when it was told: it includes what its event loop was busy with. */
async function stop(writer, name, kind, random) {
  const { tell, exit, drains } = STOPS[kind];
  writer.send({ type: 'write', names: [`${name}a`, `${name}b`], drains });
  await writer.says('writing');
  // In some it comes while the environment is being opened.
  if (random.chance(0.8)) await writer.says('open');
  await new Promise((resolve) => setTimeout(resolve, random.integer(0, LONGEST_PAUSE_MILLISECONDS)));
  const begin = performance.now();
  tell(writer);
  const ended = await inTime(writer.ended, `a process that was told to end by ${kind} lives on`);
  const milliseconds = Math.round(performance.now() - begin);
  const faults =
    ended === exit ? [] : [`a process that was told to end by ${kind} ended with ${ended}: ${writer.errors}`];
  return { milliseconds, faults };
}
