import { join } from 'node:path';
import type { CorruptEntry, IntegrityReport } from '../backend/lmdb/file/integrity.js';
import { checkInProcess } from '../backend/lmdb/integrity-process.js';
import { DATA_FILE } from '../backend/lmdb/layout.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { print } from './output.js';
import { describeRecord, STATE_OPTIONS } from './state.js';
import { stateDirectory } from './state-directory.js';
import { counted, Progress, printable } from './terminal.js';

export const VERIFY: CommandSpec = {
  name: 'verify',
  summary: 'Reads everything in a state directory, every page and every record, and tells what is damaged.',
  operands: [],
  options: { path: STATE_OPTIONS.path },
  notes: `Ends with status 1 if anything is wrong, and names it. A corrupt record costs that record only: 'wafstate delete' removes
it. Where the file itself is damaged, restore a backup, or save what is readable with 'wafstate export'. Reads the
file without LMDB, in a process of its own, beside servers that write to it.

  wafstate verify --path ./state`,
};

export async function verify(args: Arguments): Promise<number> {
  const directory = stateDirectory(args.text('path') as string, '--path');
  const progress = new Progress();
  const report = await checkInProcess(directory, (records) =>
    progress.update(() => `${records.toLocaleString('en')} records read`),
  ).finally(() => progress.end());
  const json = args.flag('json');
  if ('failure' in report) {
    if (json) print(`${JSON.stringify({ complete: false, failure: report.failure })}\n`);
    else print(`${join(directory, DATA_FILE)} could not be read to its end: ${report.failure}\n`);
    return EXIT.finding;
  }
  print(json ? `${JSON.stringify(forPrograms(report))}\n` : forPeople(report));
  return report.corruptRecords + report.damages === 0 ? EXIT.success : EXIT.finding;
}

function forPrograms({ corrupt, ...report }: IntegrityReport) {
  return { complete: true, ...report, corrupt: corrupt.map(describeCorrupt) };
}

function forPeople(report: IntegrityReport): string {
  const lines = report.corrupt.map((entry) => {
    const { collection, application, key, reason } = describeCorrupt(entry);
    return `corrupt: ${collection} ${key}${application === '' ? '' : ` (application ${application})`}: ${reason}`;
  });
  for (const { page, what } of report.damage) lines.push(`damaged: page ${page} ${what}`);
  lines.push(
    `${counted(report.records, 'record')} with ${counted(report.variables, 'variable')} read, ${report.corruptRecords} corrupt; ` +
      `${counted(report.pages, 'page')}, ${counted(report.damages, 'fault')} in them`,
  );
  return `${lines.join('\n')}\n`;
}

/** An entry whose key names no record has the collection `none`. */
function describeCorrupt({ key, name, reason }: CorruptEntry) {
  const described =
    name === undefined ? { collection: 'none', application: '', key: printable(key) } : describeRecord(name);
  return { ...described, reason };
}
