import { once } from 'node:events';
import { createWriteStream, linkSync, realpathSync, unlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { FileSnapshot } from '../backend/lmdb/file/snapshot.js';
import { EnvironmentWalk, type WalkStep } from '../backend/lmdb/file/walk.js';
import { type Arguments, type CommandSpec, EXIT, UsageError } from './arguments.js';
import { type ExportCounts, ExportWriter } from './export-format.js';
import { STATE_OPTIONS } from './state.js';
import { Progress } from './terminal.js';

export const EXPORT: CommandSpec = {
  name: 'export',
  summary:
    'Writes every record of a state directory as text, also of a damaged one as far as it is readable.',
  operands: [],
  options: {
    path: STATE_OPTIONS.path,
    output: { type: 'text', placeholder: 'FILE', help: 'a new file, mode 0600 (default: standard output)' },
  },
  notes: `Ends with status 1 if something could not be read; the text names it. The form is described in docs/export.md; its last
line has counts and a digest, by which 'wafstate import' notices text that was cut short. Reads the file without LMDB, beside servers
that write to it: the export is one state of it.

  wafstate export --path ./state --output state.txt
  wafstate export --path ./state | gzip > state.txt.gz`,
};

export async function exportRecords(args: Arguments): Promise<number> {
  const output = args.text('output');
  const json = args.flag('json');
  if (json && output === undefined)
    throw new UsageError('--json needs --output: standard output cannot hold both the export and the object');
  const directory = realpathSync(args.text('path') as string);
  const snapshot = await FileSnapshot.open(directory);
  let counts: ExportCounts;
  try {
    counts = await (output === undefined
      ? write(snapshot, process.stdout)
      : intoFile(output, (stream) => write(snapshot, stream)));
  } finally {
    snapshot.close();
  }
  if (json) process.stdout.write(`${JSON.stringify(counts)}\n`);
  else
    process.stderr.write(
      `${counts.records} records exported, ${counts.unreadable} unreadable; ${counts.damaged} damaged pages\n`,
    );
  return counts.unreadable + counts.damaged === 0 ? EXIT.success : EXIT.finding;
}

async function write(snapshot: FileSnapshot, stream: Writable): Promise<ExportCounts> {
  const writer = new ExportWriter();
  const progress = new Progress();
  const put = async (text: string): Promise<void> => {
    if (!stream.write(text, 'latin1')) await once(stream, 'drain');
  };
  await put(writer.header());
  if (snapshot.damage !== undefined) await put(writer.damaged(0, snapshot.damage));
  for (const step of new EnvironmentWalk(snapshot.file, snapshot.meta).steps()) {
    await put(lineOf(writer, step));
    progress.update(() => `${writer.counts.records.toLocaleString('en')} records exported`);
  }
  snapshot.requireUnmoved();
  await put(writer.end());
  progress.end();
  return writer.counts;
}

function lineOf(writer: ExportWriter, step: WalkStep): string {
  switch (step.type) {
    case 'record':
      return writer.record(step.record);
    case 'corrupt':
      return writer.unreadable(step);
    case 'damage':
      return writer.damaged(step.page, step.what);
  }
}

/** The file appears under its name when it is whole and on disk, and never takes another's place. */
async function intoFile<T>(file: string, fill: (stream: Writable) => Promise<T>): Promise<T> {
  const draft = `${file}.${process.pid}.partial`;
  const stream = createWriteStream(draft, { flags: 'wx', mode: 0o600 });
  try {
    await once(stream, 'open');
    const result = await fill(stream);
    stream.end();
    await once(stream, 'close');
    const written = await open(draft, 'r+');
    await written.sync();
    await written.close();
    linkSync(draft, file);
    return result;
  } finally {
    stream.destroy();
    unlinkSync(draft);
  }
}
