// Opens and closes an environment thousands of times beside processes that write to it on a busy machine, and sees that no
// acknowledged commit is lost and that every record is sound.
//
//     node scripts/open-storm.mjs [--opens 2000] [--writers 4] [--burners 2] [--openers 2] [--command-lines 40]
//                                 [--implementation both] [--durability both]
//
// Every eighth open is for writing, the rest read-only; `--command-lines` of them are runs of `wafstate stats`.
import { execFile, fork } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { openLmdb, systemClock } from 'wafstate';
import { count, implementationsOf, increment } from './lmdb-load.js';

const FILE = fileURLToPath(import.meta.url);
const COMMAND_LINE = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const LANES = 64;
const KEYS_A_WRITER = 50;

/** Increments its own keys until it is told to stop, and reports what was acknowledged for each. */
async function write({ open, writer }) {
  const backend = await openLmdb(open);
  const acknowledged = Array.from({ length: KEYS_A_WRITER }, () => 0);
  let vanished = 0;
  let stopped = false;
  process.on('message', () => {
    stopped = true;
  });
  const lane = async (_, number) => {
    for (let round = number; !stopped; round++) {
      const index = round % KEYS_A_WRITER;
      await increment(backend, `writer ${writer} key ${index}`);
      acknowledged[index]++;
      if (round % 16 === 0 && count(backend, `writer ${writer} key ${index}`) < acknowledged[index])
        vanished++;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  await backend.close();
  await new Promise((resolve) => process.send({ acknowledged, vanished }, resolve));
  process.disconnect();
}

async function openOften({ open, opens }) {
  for (let index = 0; index < opens; index++) {
    const backend = await openLmdb({ ...open, readOnly: index % 8 !== 0 });
    count(backend, 'writer 0 key 0');
    await backend.close();
  }
  process.disconnect();
}

/** Keeps a core busy, in slices between which it can hear that whoever started it is gone. */
function burn() {
  const until = performance.now() + 20;
  for (let value = 0; performance.now() < until; value++) Math.sqrt(value);
  setImmediate(burn);
}

const children = new Set();

function start(role, share) {
  const child = fork(FILE, ['--role', role, '--share', JSON.stringify(share)]);
  children.add(child);
  const report = new Promise((resolve) => child.on('message', resolve));
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? signal));
  });
  return { child, report, ended };
}

/** Resolves to the first exit code that is not 0. */
async function runCommandLines(path, times, implementation) {
  const env = { ...process.env, WAFSTATE_NATIVE: implementation === 'native' ? 'require' : '0' };
  for (let index = 0; index < times; index++) {
    try {
      await promisify(execFile)(process.execPath, [COMMAND_LINE, 'stats', '--path', path], { env });
    } catch (error) {
      console.error(error.stderr);
      return error.code;
    }
  }
  return 0;
}

/** The sum over all records, each of which the scan has decoded and verified. */
async function sumAll(open) {
  const backend = await openLmdb({ ...open, readOnly: true });
  let sum = 0;
  let damaged = 0;
  let after;
  do {
    const page = await backend.scan({
      now: systemClock.now(),
      limit: 1000,
      ...(after !== undefined && { after }),
    });
    for (const { snapshot } of page.entries) {
      if (snapshot === undefined) damaged++;
      else sum += Number(snapshot.variables.get('count').value);
    }
    after = page.next;
  } while (after !== undefined);
  await backend.close();
  return { sum, damaged };
}

async function storm(options, implementation, durability) {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-open-'));
  const { opens, writers, burners, openers } = options;
  const open = { path: join(directory, 'state'), mapSize: 2 ** 28, implementation, durability };
  try {
    await (await openLmdb(open)).close();
    for (let burner = 0; burner < burners; burner++) start('burn', {});
    const writing = Array.from({ length: writers }, (_, writer) => start('write', { open, writer }));
    const commandLines = existsSync(COMMAND_LINE) ? Math.min(options.commandLines, opens) : 0;
    const begin = performance.now();
    const share = Math.ceil((opens - commandLines) / openers);
    const opening = Array.from({ length: openers }, () => start('open', { open, opens: share }));
    const endings = await Promise.all([
      ...opening.map(({ ended }) => ended),
      runCommandLines(open.path, commandLines, implementation),
    ]);
    const seconds = (performance.now() - begin) / 1000;
    for (const { child } of writing) if (child.connected) child.send('stop');
    const reports = await Promise.all(writing.map(({ report, ended }) => Promise.race([report, ended])));
    await Promise.all(writing.map(({ ended }) => ended));
    const failed = endings.filter((code) => code !== 0);
    const broken = reports.filter((report) => report.acknowledged === undefined);
    const acknowledged = reports.reduce(
      (total, report) => total + (report.acknowledged ?? []).reduce((a, b) => a + b, 0),
      0,
    );
    const vanished = reports.reduce((total, report) => total + (report.vanished ?? 0), 0);
    const { sum, damaged } = await sumAll(open);
    console.log(
      `${implementation} ${durability}: ${share * openers + commandLines} opens (${commandLines} by the command line) in ${Math.round(seconds)} s beside ${writers} writers, ` +
        `${acknowledged} acknowledged, ${sum} found, ${vanished} not seen at once, ${damaged} damaged records, ${failed.length + broken.length} processes failed`,
    );
    if (sum !== acknowledged || vanished + damaged + failed.length + broken.length > 0) process.exitCode = 1;
  } finally {
    for (const child of children) child.kill('SIGKILL');
    children.clear();
    rmSync(directory, { recursive: true });
  }
}

const { values } = parseArgs({
  options: {
    role: { type: 'string' },
    share: { type: 'string' },
    opens: { type: 'string', default: '2000' },
    writers: { type: 'string', default: '4' },
    burners: { type: 'string', default: '2' },
    openers: { type: 'string', default: '2' },
    'command-lines': { type: 'string', default: '40' },
    implementation: { type: 'string', default: 'both' },
    durability: { type: 'string', default: 'both' },
  },
});

const ROLES = { write, open: openOften, burn };
if (values.role !== undefined) {
  // Killed together with its parent, or outliving it by nothing: an orphan would keep the machine busy for ever.
  process.on('disconnect', () => process.exit());
  await ROLES[values.role](JSON.parse(values.share));
} else {
  const options = {
    opens: +values.opens,
    writers: +values.writers,
    burners: +values.burners,
    openers: +values.openers,
    commandLines: +values['command-lines'],
  };
  for (const implementation of implementationsOf(values.implementation)) {
    for (const durability of values.durability === 'both' ? ['durable', 'relaxed'] : [values.durability]) {
      await storm(options, implementation, durability);
    }
  }
}
