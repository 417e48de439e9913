import { randomBytes } from 'node:crypto';
import { rmSync, type Stats, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { FileSnapshot } from '../backend/lmdb/file/snapshot.js';
import { EnvironmentWalk } from '../backend/lmdb/file/walk.js';
import { WafStateError } from '../contract/errors.js';
import type { RecordName } from '../contract/space.js';
import { systemError } from '../contract/system-error.js';
import { readExport } from './export-reader.js';
import { readInput } from './input.js';
import { stateDirectory } from './state-directory.js';

/** Each with its bytes, encoded and checked. */
export interface SourceRecord {
  readonly name: RecordName;
  readonly bytes: Uint8Array;
}

/** What an import takes records from. It is read more than once: all is checked before anything is written. */
export interface ImportSource {
  /** Throws `corrupt_data` where anything is wrong with it, and what the system refuses. */
  records(): AsyncIterable<SourceRecord>;
  close(): Promise<void>;
}

/**
 * An export, plain or gzip, or the directory of a backup; `-` is an export on standard input. What can be read only once, which a pipe
 * is too, is kept in a file without a name for as long.
 */
export async function openSource(path: string): Promise<ImportSource> {
  const stats = path === '-' ? undefined : statsOf(path);
  if (stats?.isDirectory() === true) {
    const directory = stateDirectory(path, 'SOURCE');
    return { records: () => readBackup(directory), close: async () => undefined };
  }
  if (stats?.isFile() === true) {
    return { records: () => readExport(readInput(path, 'export')), close: async () => undefined };
  }
  const kept = await keep(readInput(path, 'export'));
  return {
    records: () => readExport(kept.createReadStream({ start: 0, autoClose: false })),
    close: () => kept.close(),
  };
}

function statsOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw systemError(error, `read ${path}`, { details: { option: 'path' } });
  }
}

/** Nobody else sees it, and no death of this process leaves it behind. */
async function keep(bytes: AsyncIterable<Buffer>): Promise<FileHandle> {
  const path = join(tmpdir(), `wafstate-import-${randomBytes(8).toString('hex')}`);
  const refused = (error: unknown): WafStateError =>
    error instanceof WafStateError
      ? error
      : systemError(error, `keep what is to be imported in ${tmpdir()}`, { details: { option: 'path' } });
  let kept: FileHandle;
  try {
    kept = await open(path, 'wx+', 0o600);
  } catch (error) {
    throw refused(error);
  }
  try {
    rmSync(path);
    await pipeline(bytes, kept.createWriteStream({ autoClose: false }));
    return kept;
  } catch (error) {
    await kept.close();
    throw refused(error);
  }
}

async function* readBackup(directory: string): AsyncGenerator<SourceRecord> {
  const snapshot = await FileSnapshot.open(directory);
  try {
    if (snapshot.damage !== undefined) throw damaged(directory, snapshot.damage);
    for (const step of new EnvironmentWalk(snapshot.file, snapshot.meta).steps()) {
      if (step.type === 'damage') throw damaged(directory, `page ${step.page} ${step.what}`);
      if (step.type === 'corrupt') throw damaged(directory, `a record is corrupt: ${step.reason}`);
      yield { name: step.record.name, bytes: step.bytes };
    }
    snapshot.requireUnmoved();
  } finally {
    snapshot.close();
  }
}

/** An export saves what is readable. */
function damaged(directory: string, what: string): WafStateError {
  return new WafStateError(
    'corrupt_data',
    `${directory} is damaged: ${what}; nothing of it was imported: save what is readable with 'wafstate export', and import that`,
  );
}
