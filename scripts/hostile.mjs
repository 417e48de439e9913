// Damages environments in thousands of ways and sees that no process that opens one crashes or hangs, that what a glance can tell is
// refused before LMDB sees it, and that the check of integrity finds the rest.
//
//     node scripts/hostile.mjs [--environments 2000] [--seed 1] [--implementation both] [--verbose]
//
// Each is opened natively and in TypeScript in a child process. Damaged pages are looked for by the check that `integrity: 'full'` and
// `wafstate verify` make, and for a part of them by these two as a user runs them. Prints what came of each kind; ends with status 1 if a promise was broken.
import { fork, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { nativeStatus } from 'wafstate';
import { makeBases } from './hostile/bases.js';
import { foreignCases, headerCases, pageCases, truncationCases } from './hostile/damage.js';
import { implementationsOf } from './lmdb-load.js';
import { Random } from './random.js';

const { values } = parseArgs({
  options: {
    environments: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    implementation: { type: 'string', default: nativeStatus().loaded ? 'both' : 'typescript' },
    verbose: { type: 'boolean', default: false },
  },
});
const ENVIRONMENTS = Number(values.environments);
const IMPLEMENTATIONS = implementationsOf(values.implementation);
const COMMAND_LINE = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const CHILD = fileURLToPath(new URL('./hostile/child.mjs', import.meta.url));
/** Far beyond what any of them takes; longer is a hang. */
const PATIENCE_MILLISECONDS = 60_000;
/** Of so many environments with a damaged page one is opened with `integrity: 'full'`, and verified by the command line. */
const VERIFY_EACH = 10;

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-hostile-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

/** A child that is started again when it has died. */
class Host {
  #child;

  ask(task) {
    this.#child ??= fork(CHILD, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    const child = this.#child;
    return new Promise((resolve) => {
      const answer = (outcome) => {
        clearTimeout(timer);
        child.removeAllListeners();
        if (outcome.outcome === 'crash' || outcome.outcome === 'hang') this.#child = undefined;
        resolve(outcome);
      };
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        answer({ outcome: 'hang' });
      }, PATIENCE_MILLISECONDS);
      child.on('message', answer);
      child.on('exit', (status, signal) =>
        answer({ outcome: 'crash', message: signal ?? `status ${status}` }),
      );
      child.send(task);
    });
  }

  end() {
    this.#child?.kill();
  }
}

/** Pages in use, by kind: those that the trees of the newest meta page lead to. */
function pagesInUse(file) {
  const pages = { branch: [], leaf: [], overflow: [], 'free list': [] };
  const newest = [0, 4096].sort((a, b) =>
    Number(file.readBigUInt64LE(b + 152) - file.readBigUInt64LE(a + 152)),
  )[0];
  const walk = (page, leafKind) => {
    const at = page * 4096;
    const branch = file.readUInt16LE(at + 18) === 1;
    pages[branch ? (leafKind === 'leaf' ? 'branch' : leafKind) : leafKind].push(page);
    for (let offset = at + 24; offset < at + 24 + file.readUInt16LE(at + 20); offset += 2) {
      const node = at + 24 + file.readUInt16LE(offset);
      if (branch) walk(file.readUInt32LE(node), leafKind);
      else if (file.readUInt16LE(node + 4) === 1)
        pages[leafKind === 'leaf' ? 'overflow' : leafKind].push(
          Number(file.readBigUInt64LE(node + 8 + file.readUInt16LE(node + 6))),
        );
    }
  };
  for (const [offset, kind] of [
    [88, 'free list'],
    [136, 'leaf'],
  ]) {
    const root = file.readBigUInt64LE(newest + offset);
    if (root !== 0xffffffffffffffffn) walk(Number(root), kind);
  }
  return pages;
}

function canMakeDevices() {
  const file = join(scratch, 'device');
  spawnSync('mknod', [file, 'c', '1', '5']);
  return existsSync(file);
}

/** All that can be listed, then damaged pages until there are enough; or, where fewer are wanted, some of each. */
function chooseCases(names, at, random) {
  const listed = names.flatMap((name) => {
    const file = readFileSync(join(at(name), 'data.mdb'));
    return [...headerCases(name, random), ...truncationCases(name, file.length)];
  });
  listed.push(...foreignCases(names[1], canMakeDevices()));
  const half = Math.floor(ENVIRONMENTS * 0.6);
  const step = Math.max(1, listed.length / half);
  const cases = [];
  for (let index = 0; index < listed.length; index += step) cases.push(listed[Math.floor(index)]);
  const damaged = names.map((name) =>
    pageCases(name, pagesInUse(readFileSync(join(at(name), 'data.mdb'))), random),
  );
  // Of the first base there is one page of each kind: the others have more to damage.
  for (let index = 0; cases.length < ENVIRONMENTS; index++)
    cases.push(damaged[index % 8 === 0 ? 0 : 1 + (index % 2)].next().value);
  return cases;
}

const BEFORE_LMDB = /^openLmdb: /;

/** What promise an outcome breaks, if any. */
function brokenPromise({ expect }, outcome, sound, exact) {
  if (outcome.outcome === 'untyped') return `an error that is not typed: ${outcome.message}`;
  const refused =
    outcome.outcome === 'refused' && BEFORE_LMDB.test(outcome.message) && outcome.code !== 'unavailable';
  const same = outcome.outcome === 'opened' && outcome.errors === 0 && outcome.digest === exact.digest;
  const dead = outcome.outcome === 'crash' || outcome.outcome === 'hang';
  switch (expect) {
    case 'refuse':
      return refused ? undefined : 'was not refused';
    case 'refuse or exact':
      return refused || same ? undefined : 'was neither refused nor read as it was';
    case 'empty':
      return outcome.outcome === 'opened' && outcome.records === 0
        ? undefined
        : 'did not open as a new environment';
    case 'check':
      if (sound) return same || refused ? undefined : 'passed the check of integrity, and was not as before';
      return dead || outcome.outcome === 'opened' || refused || outcome.outcome === 'refused'
        ? undefined
        : 'is unheard of';
    default:
      throw new Error(expect);
  }
}

function verify(path) {
  const { status, stdout, signal } = spawnSync(
    process.execPath,
    [COMMAND_LINE, 'verify', '--path', path, '--json'],
    {
      encoding: 'utf8',
      timeout: PATIENCE_MILLISECONDS,
    },
  );
  return { status, signal, said: stdout };
}

const tally = new Map();
function count(kind, what) {
  const counts = tally.get(kind) ?? {};
  counts[what] = (counts[what] ?? 0) + 1;
  tally.set(kind, counts);
}

const at = (name) => join(scratch, 'bases', name);
mkdirSync(join(scratch, 'bases'));
const names = await makeBases(IMPLEMENTATIONS[0], at);
const hosts = new Map(IMPLEMENTATIONS.map((implementation) => [implementation, new Host()]));
const copy = (name, implementation) => {
  const path = join(scratch, implementation, 'state');
  rmSync(join(scratch, implementation), { recursive: true, force: true });
  cpSync(at(name), path, { recursive: true });
  cpSync(at(name), join(scratch, implementation, 'sound'), { recursive: true });
  return path;
};

const exact = new Map();
for (const name of names) {
  const digests = [];
  for (const [implementation, host] of hosts)
    digests.push(await host.ask({ path: copy(name, implementation), implementation }));
  if (
    digests.some(
      ({ outcome, digest, errors }) => outcome !== 'opened' || errors > 0 || digest !== digests[0].digest,
    )
  )
    throw new Error(`the sound environment '${name}' is not read as it is: ${JSON.stringify(digests)}`);
  exact.set(name, digests[0]);
}

const broken = [];
const random = new Random(Number(values.seed));
const cases = chooseCases(names, at, () => random.next());
for (const [index, damaged] of cases.entries()) {
  const paths = new Map();
  for (const implementation of IMPLEMENTATIONS) {
    const path = copy(damaged.base, implementation);
    paths.set(implementation, path);
  }
  // The same damage for both: it is made once and copied.
  const [first, ...others] = paths.values();
  await damaged.damage(first);
  for (const path of others) {
    rmSync(path, { recursive: true });
    spawnSync('cp', ['-a', first, path]);
  }
  const fail = (implementation, promise, outcome) => {
    broken.push({
      index,
      implementation,
      kind: damaged.kind,
      base: damaged.base,
      what: damaged.what,
      promise,
      outcome,
    });
    if (values.verbose) console.error(JSON.stringify(broken.at(-1)));
  };
  let sound = false;
  if (damaged.expect === 'check') {
    const [checker] = hosts.values();
    const checked = await checker.ask({ check: first });
    sound = checked.sound;
    count(damaged.kind, sound ? 'check: sound' : 'check: damaged');
    if (checked.outcome !== 'checked') fail('check', 'did not come to its end', checked);
    if (index % VERIFY_EACH === 0) {
      const verified = verify(first);
      if (verified.status !== (sound ? 0 : 1))
        fail('verify', `ended with ${verified.signal ?? verified.status}`, verified.said);
      for (const [implementation, host] of hosts) {
        const outcome = await host.ask({
          path: paths.get(implementation),
          implementation,
          integrity: 'full',
          readOnly: true,
        });
        count(damaged.kind, `${implementation} full: ${outcome.outcome}`);
        const refused = outcome.outcome === 'refused' && outcome.code === 'corrupt_data';
        if (sound ? outcome.digest !== exact.get(damaged.base).digest : !refused)
          fail(implementation, 'integrity: full', outcome);
      }
    }
  }
  await Promise.all(
    [...hosts].map(async ([implementation, host]) => {
      const outcome = await host.ask({ path: paths.get(implementation), implementation });
      count(damaged.kind, `${implementation}: ${outcome.outcome}`);
      const promise = brokenPromise(damaged, outcome, sound, exact.get(damaged.base));
      if (promise !== undefined) fail(implementation, promise, outcome);
    }),
  );
  if (index % 100 === 0 && (values.verbose || process.stderr.isTTY))
    process.stderr.write(`${index} of ${cases.length}\n`);
}
for (const host of hosts.values()) host.end();

console.log(
  JSON.stringify(
    {
      environments: cases.length,
      kinds: Object.fromEntries(tally),
      broken: broken.length,
      first: broken.slice(0, 20),
    },
    null,
    1,
  ),
);
process.exitCode = broken.length === 0 ? 0 : 1;
