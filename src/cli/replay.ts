import { basename } from 'node:path';
import { openLmdb } from '../backend/lmdb/open-lmdb.js';
import { openMemory } from '../backend/memory/memory.js';
import { openSharedMemory } from '../backend/shared-memory/shared-memory.js';
import type { Backend } from '../contract/backend.js';
import { nativeStatus } from '../record/addon.js';
import { loadRules, type RuleSet } from '../seclang/index.js';
import { type LogEntry, type LoggedRequest, parseLine, parseRequest, readLines } from './access-log.js';
import { type Arguments, type CommandSpec, EXIT, UsageError } from './arguments.js';
import type { LimitRule } from './judge.js';
import { judgeByRules } from './judge-by-rules.js';
import { judgeLog } from './judge-log.js';
import { forget, loadLogClock, refuseLiveState } from './log-clock.js';
import { type ReplayReport, reportReplay } from './replay-report.js';
import { reportRules } from './rules-report.js';
import { sampleTraffic } from './sample-traffic.js';
import { printable } from './terminal.js';

export const REPLAY: CommandSpec = {
  name: 'replay',
  summary:
    'Judges the requests of an access log, one transaction each, and tells who would be blocked, when and why.',
  operands: [],
  options: {
    log: {
      type: 'path',
      placeholder: 'FILE',
      help: 'access log in common or combined format, plain or gzip; - reads standard input; without it, sample traffic',
    },
    rules: {
      type: 'text',
      placeholder: 'FILE',
      help: 'SecLang rules to judge by, instead of --limit, --window and --block',
    },
    engine: {
      type: 'choice',
      choices: ['lmdb', 'memory', 'shared-memory'],
      initial: 'lmdb',
      help: 'where the state is kept',
    },
    path: {
      type: 'path',
      placeholder: 'DIR',
      initial: './wafstate-replay',
      help: 'directory of the LMDB state',
    },
    limit: {
      type: 'integer',
      placeholder: 'N',
      initial: 30,
      least: 1,
      help: 'requests that an address may make in a window',
    },
    window: {
      type: 'integer',
      placeholder: 'SECONDS',
      initial: 300,
      least: 1,
      most: 315_360_000,
      help: 'length of the window, which begins with the first request',
    },
    block: {
      type: 'integer',
      placeholder: 'SECONDS',
      initial: 3600,
      least: 1,
      most: 315_360_000,
      help: 'how long a block lasts',
    },
    'ipv6-prefix': {
      type: 'integer',
      placeholder: 'BITS',
      initial: 128,
      least: 1,
      most: 128,
      help: 'IPv6 addresses count by this prefix',
    },
    again: { type: 'flag', help: 'start fresh: remove what earlier runs left in the directory' },
    seed: { type: 'integer', placeholder: 'N', initial: 1, most: 2 ** 32 - 1, help: 'of the sample traffic' },
    requests: {
      type: 'integer',
      placeholder: 'N',
      initial: 20_000,
      least: 2000,
      most: 2_000_000,
      help: 'of the sample traffic',
    },
  },
  notes: `The clock is the log's: the newest time seen so far. An older line counts at that time. With the LMDB
engine the clock and all counters stay in the directory, so the next run goes on where this one stopped;
a log that begins over 10 minutes before it is refused (--again starts fresh). A directory belongs to
replay or to live traffic, not to both.

With --rules each line is a request through all five phases, and the report tells which rules matched and whom
they refused. A log tells the address, the request line, the status, User-Agent and Referer, nothing else.

  wafstate replay --log /var/log/nginx/access.log
  wafstate replay --log access.log --rules login.conf --engine memory
  zcat access.log.*.gz | wafstate replay --log - --limit 100 --window 60
  wafstate get --path ./wafstate-replay ip 203.0.113.9`,
};

/** When the sample traffic of a fresh state begins: 2026-01-01T00:00:00Z, in nanoseconds. */
const SAMPLE_START = 1_767_225_600_000_000_000n;

export async function replay(args: Arguments): Promise<number> {
  const engine = args.text('engine') as string;
  if (args.flag('again') && engine !== 'lmdb')
    throw new UsageError('--again is for the lmdb engine: the others always start fresh');
  if (args.given('path') && engine !== 'lmdb')
    throw new UsageError('--path is for the lmdb engine: the others keep nothing on disk');
  const log = args.text('log');
  const file = args.text('rules');
  for (const name of ['limit', 'window', 'block']) {
    if (file === undefined || !args.given(name)) continue;
    throw new UsageError(`--${name} means nothing beside --rules`);
  }
  const rules = file === undefined ? undefined : loadRules(file);
  // Begun before anything else is: a log that is not there must not cost the state of earlier runs.
  const lines = log === undefined ? undefined : await begun(readLines(log));
  const backend = await open(engine, args.text('path') as string);
  let judged: Judged;
  try {
    judged =
      rules === undefined
        ? await run(backend, engine, args, lines)
        : await runRules(backend, rules, args, lines);
  } finally {
    await backend.close();
  }
  judged.report();
  const isLog = judged.lines === 0 || judged.malformed < judged.lines;
  if (!isLog) {
    process.stderr.write(
      `wafstate: no line of ${printable(sourceOf(args))} is in the common or combined log format, as 203.0.113.9 - - [31/Jan/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 12\n`,
    );
  }
  // As the signal ends any other program. Nothing less does where a read of a pipe is under way.
  if (judged.interrupted) process.kill(process.pid, 'SIGINT');
  return isLog ? EXIT.success : EXIT.finding;
}

/** What was found, to be told once the engine is closed. */
interface Judged {
  readonly lines: number;
  readonly malformed: number;
  readonly interrupted: boolean;
  report(): void;
}

async function runRules(
  backend: Backend,
  rules: RuleSet,
  args: Arguments,
  lines: AsyncIterable<string | undefined> | undefined,
): Promise<Judged> {
  const { saved, started } = await prepare(backend, args);
  const tally = await judgeByRules(backend, requests(args, saved, lines), {
    rules,
    saved,
    ipv6Prefix: args.integer('ipv6-prefix') as number,
  });
  const engine = args.text('engine') as string;
  const native = engine !== 'memory' && nativeStatus().loaded;
  const seconds = (performance.now() - started) / 1000;
  return {
    ...tally,
    report: () => reportRules({ ...tally, engine, native, seconds }, args.flag('json')),
  };
}

async function* requests(
  args: Arguments,
  saved: bigint | undefined,
  lines: AsyncIterable<string | undefined> | undefined,
): AsyncGenerator<LoggedRequest | undefined> {
  if (lines === undefined) {
    for await (const entry of entries(args, saved, undefined)) {
      yield entry && { ...entry, method: 'GET', uri: '/', httpVersion: '1.1', status: 200, headers: [] };
    }
    return;
  }
  for await (const line of lines) yield line === undefined ? undefined : parseRequest(line);
}

/** As the report names it. */
function sourceOf(args: Arguments): string {
  const log = args.text('log');
  if (log === undefined) return `sample traffic (seed ${args.integer('seed')})`;
  return log === '-' ? 'standard input' : basename(log);
}

/** The log clock of earlier runs, and when this one began. */
async function prepare(
  backend: Backend,
  args: Arguments,
): Promise<{ saved: bigint | undefined; started: number }> {
  await refuseLiveState(backend);
  if (args.flag('again')) await forget(backend);
  return { saved: await loadLogClock(backend), started: performance.now() };
}

/** The same lines, the first of which was read. */
async function begun<T>(lines: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await lines.next();
  return (async function* () {
    if (first.done === true) return;
    yield first.value;
    yield* lines;
  })();
}

async function open(engine: string, path: string): Promise<Backend> {
  // The replay's time is the log's, so no sweep by the real clock may run: it would end every block of an old log.
  if (engine === 'memory') return openMemory({ cleanupInterval: 0 });
  if (engine === 'shared-memory') return openSharedMemory({ name: 'replay', cleanupInterval: 0 });
  return openLmdb({ path, cleanupInterval: 0 });
}

async function run(
  backend: Backend,
  engine: string,
  args: Arguments,
  lines: AsyncIterable<string | undefined> | undefined,
): Promise<Judged> {
  const { saved, started } = await prepare(backend, args);
  const rule: LimitRule = {
    limit: args.integer('limit') as number,
    window: args.integer('window') as number,
    block: args.integer('block') as number,
  };
  const tally = await judgeLog(backend, entries(args, saved, lines), {
    rule,
    saved,
    ipv6Prefix: args.integer('ipv6-prefix') as number,
  });
  const report: ReplayReport = {
    ...tally,
    source: sourceOf(args),
    rule,
    engine,
    path: engine === 'lmdb' ? args.text('path') : undefined,
    native: engine !== 'memory' && nativeStatus().loaded,
    continued: saved !== undefined,
    seconds: (performance.now() - started) / 1000,
  };
  return { ...report, report: () => reportReplay(report, args.flag('json')) };
}

async function* entries(
  args: Arguments,
  saved: bigint | undefined,
  lines: AsyncIterable<string | undefined> | undefined,
): AsyncGenerator<LogEntry | undefined> {
  if (lines === undefined) {
    const start = saved ?? SAMPLE_START;
    yield* sampleTraffic({
      seed: args.integer('seed') as number,
      requests: args.integer('requests') as number,
      start,
    });
    return;
  }
  for await (const line of lines) yield line === undefined ? undefined : parseLine(line);
}
