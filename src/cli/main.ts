#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { WafStateError } from '../contract/errors.js';
import { nearestName } from '../contract/options.js';
import { errnoOf, systemError } from '../contract/system-error.js';
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
import { OutputError, onOutputError, print } from './output.js';
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
  if (name === 'help' && rest[0] !== undefined) {
    print(describe(commandNamed(rest[0])[0]));
    return EXIT.success;
  }
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    print(overview());
    return name === undefined ? EXIT.usage : EXIT.success;
  }
  if (name === '--version') {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    print(`${version}\n`);
    return EXIT.success;
  }
  const [spec, run] = commandNamed(name);
  const args = parseCommandLine(spec, rest);
  if (args.flag('help')) {
    print(describe(spec));
    return EXIT.success;
  }
  return run(args);
}

function commandNamed(name: string): (typeof COMMANDS)[number] {
  const command = COMMANDS.find(([spec]) => spec.name === name);
  if (command !== undefined) return command;
  const meant = nearestName(
    name,
    COMMANDS.map(([spec]) => spec.name),
  );
  throw new UsageError(
    `unknown command '${name}'; ${meant === undefined ? '' : `did you mean '${meant}'? `}see 'wafstate --help'`,
  );
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
  const { code, message } = told(error);
  process.stderr.write(`wafstate: ${message}\n`);
  // Where standard output is what failed, nothing can be said there.
  if (json && !(error instanceof OutputError)) print(`${JSON.stringify({ error: { code, message } })}\n`);
  return code === 'usage' ? EXIT.usage : EXIT.failure;
}

function told(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof UsageError) return { code: 'usage', message: error.message };
  if (error instanceof LogClockError) return { code: 'log_clock', message: error.message };
  if (error instanceof WafStateError || error instanceof OutputError)
    return { code: error instanceof WafStateError ? error.code : 'output', message: error.message };
  if (errnoOf(error) !== undefined) return systemError(error, attemptOf(error as SystemError));
  return {
    code: 'failure',
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  };
}

interface SystemError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
}

/** The call and what it was made for, where no place nearer to it has found better words. */
function attemptOf({ syscall, path, address, port }: SystemError): string {
  const object =
    path ??
    (address === undefined ? undefined : `on ${address}${port === undefined ? '' : `, port ${port}`}`);
  return [syscall ?? 'go on', object].filter((word) => word !== undefined).join(' ');
}

const argv = process.argv.slice(2);
const json = argv.includes('--json');
onOutputError((error) => {
  // A reader that has seen enough (`| head`) is no failure.
  process.exit(error === 'reader gone' ? EXIT.success : fail(error, json));
});
main(argv)
  .catch((error: unknown) => fail(error, json))
  // The words about a failure may meet the same full disk.
  .catch((error: unknown) => fail(error, false))
  .then((status) => {
    process.exitCode = status;
  });
