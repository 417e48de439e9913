import { join } from 'node:path';
import { type Arguments, type CommandSpec, EXIT, UsageError } from './arguments.js';
import { print } from './output.js';
import { Progress } from './terminal.js';

export const BENCH: CommandSpec = {
  name: 'bench',
  summary:
    'Measures wafstate on this machine, in C++ and in TypeScript, against others, and writes a report.',
  operands: [],
  options: {
    quick: { type: 'flag', help: 'a look within a minute; figures to keep come from a full run' },
    only: { type: 'text', placeholder: 'CASE,…', help: 'only these cases' },
    list: { type: 'flag', help: 'show the cases and end' },
    setup: { type: 'flag', help: 'install what wafstate is compared with, by npm, and end' },
    output: {
      type: 'path',
      placeholder: 'DIR',
      help: 'where the report goes (default: bench/report in a checkout, else ./wafstate-bench)',
    },
  },
  notes: `Writes report.json, report.md and report.html, which opens offline. Without --setup the packages of others are left
out, and the report says so; so is Redis without redis-server, and the C program without a C compiler. Keep the machine
quiet, and put DIR on the file system that the state will be on: syncing it is what a durable commit waits for.

  wafstate bench --setup
  wafstate bench --quick
  wafstate bench --only durable_commits,hot_key --output ./before`,
};

// Compiled from bench/ into dist/bench, beside this file's folder. By a computed address, so that the command line
// without `bench` loads none of it.
type Benchmarks = typeof import('../../bench/main.js');
const BENCHMARKS = new URL('../bench/main.js', import.meta.url);

export async function bench(args: Arguments): Promise<number> {
  const { caseIds, placesOf, renderTerminal, runBenchmarks, setUpPeers } = (await import(
    BENCHMARKS.href
  )) as Benchmarks;
  if (args.flag('list')) {
    for (const { id, title } of caseIds()) print(`${id.padEnd(18)}${title}\n`);
    return EXIT.success;
  }
  const places = placesOf(args.text('output'));
  if (args.flag('setup')) {
    process.stderr.write(`installing into ${places.peers}\n`);
    setUpPeers(places);
    return EXIT.success;
  }
  const only = (args.text('only') ?? '').split(',').filter((id) => id !== '');
  const known = caseIds().map(({ id }) => id);
  const unknown = only.find((id) => !known.includes(id));
  if (unknown !== undefined)
    throw new UsageError(`there is no case '${unknown}'; the cases are ${known.join(', ')}`);

  const progress = new Progress();
  const report = await runBenchmarks({
    mode: args.flag('quick') ? 'quick' : 'full',
    only,
    ...places,
    progress: (text) => progress.update(() => text),
  }).finally(() => progress.end());
  if (args.flag('json')) print(`${JSON.stringify(report)}\n`);
  else print(`${renderTerminal(report)}\n${join(places.output, 'report.html')}\n`);
  return report.skipped.some(({ failed }) => failed === true) ? EXIT.failure : EXIT.success;
}
