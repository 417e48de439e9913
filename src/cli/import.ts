import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DATA_FILE } from '../backend/lmdb/layout.js';
import type { LmdbBackend } from '../backend/lmdb/lmdb-backend.js';
import type { OnConflict } from '../backend/lmdb/native-addon.js';
import { systemClock } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { DEFAULT_LIMITS } from '../contract/limits.js';
import type { RecordName } from '../contract/space.js';
import { type Arguments, type CommandSpec, EXIT } from './arguments.js';
import { type ImportSource, openSource } from './import-source.js';
import { print } from './output.js';
import { openState, STATE_OPTIONS } from './state.js';
import { counted, Progress } from './terminal.js';

export const IMPORT: CommandSpec = {
  name: 'import',
  summary: 'Puts the records of an export or of a backup into a state directory, facts, deadlines and all.',
  operands: ['SOURCE'],
  options: {
    path: STATE_OPTIONS.path,
    'on-conflict': {
      type: 'choice',
      choices: ['fail', 'skip', 'replace'],
      initial: 'fail',
      help: 'what becomes of a record that is there already',
    },
  },
  notes: `SOURCE is a file by 'wafstate export', plain or gzip, or - for standard input, or a directory by 'wafstate backup'. All of it is checked before anything is written, and with
'fail' so is that none of its records is there. Records come back as they were but for the revision, which is new. The directory is
made where there is none. Safe beside a live server.

  wafstate import state.txt.gz --path ./state
  wafstate import ./state-backup --path ./state --on-conflict skip`,
};

/** In one transaction. */
const SLICE_RECORDS = 1000;
const SLICE_BYTES = 4 * 2 ** 20;

export async function importRecords(args: Arguments): Promise<number> {
  const source = await openSource(args.operands[0] as string);
  try {
    return await importFrom(source, args);
  } finally {
    await source.close();
  }
}

async function importFrom(source: ImportSource, args: Arguments): Promise<number> {
  const onConflict = args.text('on-conflict') as OnConflict;
  const progress = new Progress();
  let [records, bytes] = [0, 0];
  try {
    for await (const record of source.records()) {
      records++;
      bytes += record.bytes.byteLength;
      progress.update(() => `${records.toLocaleString('en')} records checked`);
    }
    const path = args.text('path') as string;
    const backend = await openState(path, { create: true, mapSize: roomFor(path, bytes) });
    let total: Total;
    try {
      if (onConflict === 'fail') await requireAbsent(backend, source);
      total = await restoreAll(backend, source, onConflict, (restored) =>
        progress.update(
          () => `${restored.toLocaleString('en')} of ${records.toLocaleString('en')} records imported`,
        ),
      );
    } finally {
      await backend.close();
    }
    progress.end();
    if (args.flag('json')) print(`${JSON.stringify({ records, ...total })}\n`);
    else
      print(
        `${counted(total.restored, 'record')} imported, ${total.skipped} ${total.skipped === 1 ? 'was' : 'were'} there already\n`,
      );
    return EXIT.success;
  } finally {
    progress.end();
  }
}

interface Total {
  restored: number;
  skipped: number;
}

/** The environment's cap is whoever's opens it next; here it must hold what is there and what comes, pages half full. */
function roomFor(path: string, bytes: number): number {
  const present = statSync(join(path, DATA_FILE), { throwIfNoEntry: false })?.size ?? 0;
  return Math.max(2 ** 30, 2 * present + 4 * bytes + 2 ** 26);
}

async function requireAbsent(backend: LmdbBackend, source: ImportSource): Promise<void> {
  const now = systemClock.now();
  let present = 0;
  for await (const { name } of source.records()) if (isThere(backend, name, now)) present++;
  if (present > 0)
    throw conflict(
      `${present} of its records ${present === 1 ? 'is' : 'are'} there already; nothing was imported`,
    );
}

function isThere(backend: LmdbBackend, name: RecordName, now: bigint): boolean {
  try {
    return backend.loadSync(name, now, DEFAULT_LIMITS).revision !== 0;
  } catch (error) {
    if (error instanceof WafStateError && error.code === 'corrupt_data') return true;
    throw error;
  }
}

async function restoreAll(
  backend: LmdbBackend,
  source: ImportSource,
  onConflict: OnConflict,
  onProgress: (restored: number) => void,
): Promise<Total> {
  const total: Total = { restored: 0, skipped: 0 };
  let slice: Uint8Array[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const answer = await backend.restore(slice, onConflict, systemClock.now());
    if (answer.conflict)
      throw conflict(
        `one of its records has come meanwhile; ${counted(total.restored, 'record')} imported before it`,
      );
    total.restored += answer.restored;
    total.skipped += answer.skipped;
    onProgress(total.restored);
    [slice, bytes] = [[], 0];
  };
  for await (const record of source.records()) {
    slice.push(record.bytes);
    bytes += record.bytes.byteLength;
    if (slice.length >= SLICE_RECORDS || bytes >= SLICE_BYTES) await flush();
  }
  if (slice.length > 0) await flush();
  return total;
}

function conflict(what: string): WafStateError {
  return new WafStateError('already_exists', `${what}; choose --on-conflict skip or replace`);
}
