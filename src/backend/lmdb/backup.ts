import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { WafStateError } from '../../contract/errors.js';
import { errnoOf, systemError } from '../../contract/system-error.js';
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
 * Throws `already_exists`, `invalid_option` where `target` lies in the directory itself, `corrupt_data` where the environment is damaged, and
 * what the system refuses as the code for it. Nothing is left of the copy then.
 */
export async function backUp(directory: string, target: string): Promise<IntegrityReport> {
  const place = resolve(target);
  try {
    return await copyAndCheck(directory, place);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    if (errno === 'EEXIST' || errno === 'ENOTEMPTY') throw thereAlready(place);
    throw systemError(error, `write the backup ${place}`, { details: { option: 'path' } });
  }
}

async function copyAndCheck(directory: string, place: string): Promise<IntegrityReport> {
  requireAbsent(place);
  requireOutside(directory, place);
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
        const position = page * meta.pageSize;
        // A disk that fills up takes a part first, and refuses only what comes after it.
        for (let done = 0; done < bytes.byteLength; )
          done += writeSync(descriptor, bytes, done, bytes.byteLength - done, position + done);
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
  if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) throw thereAlready(place);
}

/** A copy inside would be taken for a part of the environment, and be lost with it. */
function requireOutside(directory: string, place: string): void {
  const parent = realpathSync(dirname(place));
  const original = realpathSync(directory);
  if (parent !== original && !parent.startsWith(`${original}${sep}`)) return;
  throw new WafStateError(
    'invalid_option',
    `${place} lies in ${original}, which is to be copied; choose a place outside of it`,
    { details: { option: 'path' } },
  );
}

function thereAlready(place: string): WafStateError {
  return new WafStateError(
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
