import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { WafStateError } from '../../contract/errors.js';
import { type IntegrityReport, isSound } from './file/integrity.js';
import { FIRST_DATA_PAGE } from './file/meta.js';
import { FileSnapshot } from './file/snapshot.js';
import { EnvironmentWalk } from './file/walk.js';
import { checkInProcess } from './integrity-process.js';
import { DATA_FILE, type Durability } from './layout.js';
import { openLmdb } from './open-lmdb.js';

/**
 * Copies one state of the environment in `directory` to `target`, which must not exist, beside processes that write to it: every
 * commit acknowledged before the call is in it. The copy is read and checked to its last record before it appears under its name.
 *
 * It has the pages that this state uses, each at its place, and holes for the others: no longer on disk than what it holds. The
 * copy function of LMDB is not used, since its compacting copies can come out corrupt beside a busy writer.
 *
 * Throws `already_exists`, `corrupt_data` where the environment is damaged (nothing is left of the copy then), and errors of the system.
 */
export async function backUp(directory: string, target: string): Promise<IntegrityReport> {
  const place = resolve(target);
  requireAbsent(place);
  const draft = `${place}.${randomBytes(8).toString('hex')}.partial`;
  mkdirSync(draft, { mode: 0o700 });
  try {
    const durability = await copyState(directory, join(draft, DATA_FILE));
    const report = await checkInProcess(draft);
    if ('failure' in report) throw unfaithful(report.failure);
    if (!isSound(report))
      throw unfaithful(`${report.damages} faults, ${report.corruptRecords} corrupt records`);
    const reopened = await openLmdb({ path: draft, create: false, readOnly: true, durability });
    const { records } = reopened.stats();
    await reopened.close();
    if (records !== report.records)
      throw unfaithful(`LMDB counts ${records} records in it, and there are ${report.records}`);
    syncDirectory(draft);
    // Whoever came first keeps the place: a directory is renamed over an empty one only.
    requireAbsent(place);
    renameSync(draft, place);
    syncDirectory(dirname(place));
    return report;
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
}

/** The durability that is noted in it. */
async function copyState(directory: string, copy: string): Promise<Durability | undefined> {
  const snapshot = await FileSnapshot.open(directory);
  try {
    const { file, meta, older, damage } = snapshot;
    if (damage !== undefined) throw damaged(directory, damage);
    const walk = new EnvironmentWalk(file, meta);
    for (const step of walk.steps()) {
      if (step.type === 'damage') throw damaged(directory, `page ${step.page} ${step.what}`);
      if (step.type === 'corrupt') throw damaged(directory, `a record is corrupt: ${step.reason}`);
    }
    // The other meta page names roots of its own, which have to be there though nothing reads them.
    for (const root of [older?.freeList.root, older?.records.root])
      if (root !== undefined) walk.reached.add(root);
    const descriptor = openSync(copy, 'wx', 0o600);
    try {
      const put = (page: number, bytes: Buffer): void => {
        writeSync(descriptor, bytes, 0, bytes.byteLength, page * meta.pageSize);
      };
      for (let page = FIRST_DATA_PAGE; page <= meta.lastPage; page++)
        if (walk.reached.has(page)) put(page, file.pages(page, 1, meta.pageSize));
      put(0, snapshot.metaPages);
      ftruncateSync(descriptor, (meta.lastPage + 1) * meta.pageSize);
      snapshot.requireUnmoved();
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    return walk.durability;
  } finally {
    snapshot.close();
  }
}

function requireAbsent(place: string): void {
  if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return;
  throw new WafStateError(
    'already_exists',
    `${place} is there already, and a backup overwrites nothing; choose another name, or move it away`,
  );
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function damaged(directory: string, what: string): WafStateError {
  return new WafStateError(
    'corrupt_data',
    `${directory} is damaged, so it was not copied: ${what}; \`wafstate verify\` names all, \`wafstate export\` saves what is readable`,
    { details: { option: 'path' } },
  );
}

function unfaithful(what: string): WafStateError {
  return new WafStateError(
    'unavailable',
    `the copy did not come out as the original: ${what}; it was removed, try again`,
  );
}
