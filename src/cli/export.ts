import { randomBytes } from 'node:crypto';
import { linkSync, lstatSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { FileSnapshot } from '../backend/lmdb/file/snapshot.js';
import { EnvironmentWalk, type WalkStep } from '../backend/lmdb/file/walk.js';
import { WafStateError } from '../contract/errors.js';
import { errnoOf, systemError } from '../contract/system-error.js';
import { type Arguments, type CommandSpec, EXIT, UsageError } from './arguments.js';
import { type ExportCounts, ExportWriter } from './export-format.js';
import { print, printBytes } from './output.js';
import { STATE_OPTIONS } from './state.js';
import { stateDirectory } from './state-directory.js';
import { counted, Progress } from './terminal.js';

export const EXPORT: CommandSpec = {
  name: 'export',
  summary:
    'Writes every record of a state directory as text, also of a damaged one as far as it is readable.',
  operands: [],
  options: {
    path: STATE_OPTIONS.path,
    output: { type: 'path', placeholder: 'FILE', help: 'a new file, mode 0600 (default: standard output)' },
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
  const directory = stateDirectory(args.text('path') as string, '--path');
  const snapshot = await FileSnapshot.open(directory);
  let counts: ExportCounts;
  try {
    counts = await (output === undefined
      ? write(snapshot, printBytes)
      : intoFile(output, (sink) => write(snapshot, sink)));
  } finally {
    snapshot.close();
  }
  if (json) print(`${JSON.stringify(counts)}\n`);
  else
    process.stderr.write(
      `${counted(counts.records, 'record')} exported, ${counts.unreadable} unreadable; ${counted(counts.damaged, 'damaged page')}\n`,
    );
  return counts.unreadable + counts.damaged === 0 ? EXIT.success : EXIT.finding;
}

/** Takes Latin-1 text; resolves when there is room for more. */
type Sink = (text: string) => Promise<void>;

const PIECE_CHARACTERS = 2 ** 16;

async function write(snapshot: FileSnapshot, sink: Sink): Promise<ExportCounts> {
  const writer = new ExportWriter();
  const progress = new Progress();
  let piece = writer.header();
  if (snapshot.damage !== undefined) piece += writer.damaged(0, snapshot.damage);
  try {
    for (const step of new EnvironmentWalk(snapshot.file, snapshot.meta).steps()) {
      piece += lineOf(writer, step);
      if (piece.length < PIECE_CHARACTERS) continue;
      await sink(piece);
      piece = '';
      progress.update(() => `${writer.counts.records.toLocaleString('en')} records exported`);
    }
    snapshot.requireUnmoved();
    await sink(piece + writer.end());
  } finally {
    progress.end();
  }
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
async function intoFile<T>(file: string, fill: (sink: Sink) => Promise<T>): Promise<T> {
  requireAbsent(file);
  const draft = `${file}.${randomBytes(8).toString('hex')}.partial`;
  let handle: FileHandle;
  try {
    handle = await open(draft, 'wx', 0o600);
  } catch (error) {
    throw unwritable(file, error);
  }
  try {
    const result = await fill(async (text) => {
      await handle.writeFile(text, 'latin1');
    });
    await handle.sync();
    linkSync(draft, file);
    return result;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // Another may have taken the name meanwhile.
    throw errnoOf(error) === 'EEXIST' ? thereAlready(file) : unwritable(file, error);
  } finally {
    rmSync(draft, { force: true });
    await handle.close();
  }
}

function requireAbsent(file: string): void {
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return;
  } catch (error) {
    throw unwritable(file, error);
  }
  throw thereAlready(file);
}

function unwritable(file: string, error: unknown): WafStateError {
  return systemError(error, `write ${file}`, { details: { option: 'output' } });
}

function thereAlready(file: string): WafStateError {
  return new WafStateError(
    'already_exists',
    `${file} is there already, and an export overwrites nothing; choose another name, or move it away`,
    { details: { option: 'output' } },
  );
}
