import type { ChildProcessByStdio } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type ErrorCode, WafStateError } from '../../contract/errors.js';
import { systemError } from '../../contract/system-error.js';
import { type IntegrityReport, isSound, type OnProgress } from './file/integrity.js';
import { DATA_FILE } from './layout.js';
import { startProgram } from './own-process.js';

/** A check may take this long, and a second more for so many bytes: far beyond what it takes on a slow disk. */
const LEAST_SECONDS = 60;
const BYTES_A_SECOND = 4 * 2 ** 20;

/** Why there is no report: the check died, took too long, or the disk failed it. */
export interface FailedCheck {
  readonly failure: string;
}

/** The child's last line. */
type Answer =
  | { readonly report: IntegrityReport }
  | { readonly error: { readonly code: ErrorCode; readonly message: string } };

/**
 * Reads and checks everything in the environment of `directory` (which `preflight` has found, or anybody else), in a process of its own: whatever
 * the file does to that process, this one learns of it in bounded time. Rejects with `not_found`, `permission_denied` or `invalid_option` where
 * there is no file to check, and with the system's reason where it gives no process.
 */
export async function checkInProcess(
  directory: string,
  onProgress: OnProgress = () => undefined,
): Promise<IntegrityReport | FailedCheck> {
  const seconds = LEAST_SECONDS + Math.ceil(bytesOf(join(directory, DATA_FILE)) / BYTES_A_SECOND);
  const { child, ended } = startProgram<ChildProcessByStdio<null, Readable, Readable>>(
    './integrity-child.js',
    directory,
    ['ignore', 'pipe', 'pipe'],
  );
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, seconds * 1000);
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-MAX_ERROR_CHARACTERS);
  });
  let last = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = line;
    const records = PROGRESS.exec(line)?.[1];
    if (records !== undefined) onProgress(Number(records));
  });
  const ending = await ended;
  clearTimeout(timer);
  if (ending instanceof WafStateError) throw ending;
  if (late) return { failure: `it was not done within ${seconds} seconds` };
  const { status, signal } = ending;
  if (status !== 0)
    return { failure: `it ended with ${signal ?? `status ${status}`}${errors === '' ? '' : `: ${errors}`}` };
  const answer = JSON.parse(last) as Answer;
  if ('report' in answer) return answer.report;
  const { code, message } = answer.error;
  if (code === 'unavailable') return { failure: message };
  throw new WafStateError(code, message, { details: { option: 'path' } });
}

const PROGRESS = /^\{"records":(\d+)\}$/;
const MAX_ERROR_CHARACTERS = 2000;

/** The file may be anything, or missing: the check itself says so. */
function bytesOf(file: string): number {
  try {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  } catch (error) {
    throw systemError(error, `read ${file}`, { details: { option: 'path' } });
  }
}

/** Throws `corrupt_data` where anything is wrong, `unavailable` where the check could not be made. */
export async function requireIntegrity(directory: string): Promise<void> {
  const report = await checkInProcess(directory);
  if ('failure' in report) {
    throw new WafStateError(
      'corrupt_data',
      `openLmdb: the integrity of ${directory} could not be shown: its check failed, ${report.failure}; \`wafstate verify\` tells more`,
      { details: { option: 'integrity' } },
    );
  }
  if (isSound(report)) return;
  const [first] = report.damage;
  const worst =
    first === undefined
      ? `${report.corruptRecords} records are corrupt`
      : `page ${first.page} ${first.what}, in all ${report.damages} faults and ${report.corruptRecords} corrupt records`;
  throw new WafStateError(
    'corrupt_data',
    `openLmdb: ${directory} is damaged: ${worst}; \`wafstate verify\` names them, \`wafstate export\` saves what is readable`,
    { details: { option: 'integrity', actual: report.damages + report.corruptRecords } },
  );
}
