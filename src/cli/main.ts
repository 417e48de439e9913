#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { WafStateError } from '../contract/errors.js';
import { LogReadError } from './access-log.js';
import {
  type Arguments,
  type CommandSpec,
  describe,
  EXIT,
  parseCommandLine,
  UsageError,
} from './arguments.js';
import { BACKUP, backup } from './backup.js';
import { BENCH, bench } from './bench.js';
import { CLEANUP, cleanup } from './cleanup.js';
import { DELETE, remove } from './delete.js';
import { EXPORT, exportRecords } from './export.js';
import { GET, get } from './get.js';
import { GUARD, runGuard } from './guard.js';
import { IMPORT, importRecords } from './import.js';
import { LINT, lint } from './lint.js';
import { LIST, list } from './list.js';
import { LogClockError } from './log-clock.js';
import { REPLAY, replay } from './replay.js';
import { STATS, stats } from './stats.js';
import { TEST, test } from './test.js';
import { VERIFY, verify } from './verify.js';

const COMMANDS: readonly (readonly [CommandSpec, (args: Arguments) => Promise<number>])[] = [
  [REPLAY, replay],
  [GUARD, runGuard],
  [LIST, list],
  [GET, get],
  [DELETE, remove],
  [STATS, stats],
  [CLEANUP, cleanup],
  [VERIFY, verify],
  [EXPORT, exportRecords],
  [IMPORT, importRecords],
  [BACKUP, backup],
  [TEST, test],
  [LINT, lint],
  [BENCH, bench],
];

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(overview());
    return name === undefined ? EXIT.usage : EXIT.success;
  }
  if (name === '--version') {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    process.stdout.write(`${version}\n`);
    return EXIT.success;
  }
  const command = COMMANDS.find(([spec]) => spec.name === name);
  if (command === undefined) throw new UsageError(`unknown command '${name}'; see 'wafstate --help'`);
  const [spec, run] = command;
  const args = parseCommandLine(spec, rest);
  if (args.flag('help')) {
    process.stdout.write(describe(spec));
    return EXIT.success;
  }
  return run(args);
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(([{ name }]) => name.length));
  const rows = COMMANDS.map(([{ name, summary }]) => `  ${name.padEnd(width)}  ${summary}`).join('\n');
  return `wafstate: what a web application firewall remembers between requests

${rows}

'wafstate COMMAND --help' tells more. Every command takes --json. Status: 0 done, 1 done and something found (damage, no
such record), 2 wrong command line, 3 could not be done.

  wafstate replay                                  judge sample traffic, keep its state in ./wafstate-replay
  wafstate replay --log /var/log/nginx/access.log
`;
}

/** What to say and how to end. A fault of the program itself keeps its stack. */
function fail(error: unknown, json: boolean): number {
  const usage = error instanceof UsageError;
  const known =
    usage ||
    error instanceof WafStateError ||
    error instanceof LogClockError ||
    error instanceof LogReadError ||
    isSystemError(error);
  const message = known
    ? (error as Error).message
    : error instanceof Error
      ? (error.stack ?? error.message)
      : String(error);
  if (json) {
    const code =
      error instanceof WafStateError
        ? error.code
        : usage
          ? 'usage'
          : error instanceof LogClockError
            ? 'log_clock'
            : 'failure';
    process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
  }
  process.stderr.write(`wafstate: ${message}\n`);
  return usage ? EXIT.usage : EXIT.failure;
}

/** An error of the operating system: a directory for a report that is not there. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && 'errno' in error;
}

const argv = process.argv.slice(2);
// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.success);
  throw error;
});
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  // Who closed it wants no messages; the status still tells.
  if (error.code !== 'EPIPE') throw error;
});
main(argv)
  .catch((error: unknown) => fail(error, argv.includes('--json')))
  .then((status) => {
    process.exitCode = status;
  });
