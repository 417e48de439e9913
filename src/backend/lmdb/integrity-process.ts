import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { WafStateError } from '../../contract/errors.js';
import { type IntegrityReport, isSound, type OnProgress } from './file/integrity.js';
import { DATA_FILE } from './layout.js';

/** A check may take this long, and a second more for so many bytes: far beyond what it takes on a slow disk. */
const LEAST_SECONDS = 60;
const BYTES_A_SECOND = 4 * 2 ** 20;

/** Why there is no report. */
export interface FailedCheck {
  readonly failure: string;
}

/**
 * Reads and checks everything in the environment of `directory` (which `preflight` has found, or anybody else), in a process of its own: whatever
 * the file does to that process, this one learns of it in bounded time. Never rejects.
 */
export async function checkInProcess(
  directory: string,
  onProgress: OnProgress = () => undefined,
): Promise<IntegrityReport | FailedCheck> {
  const seconds = LEAST_SECONDS + Math.ceil(bytesOf(join(directory, DATA_FILE)) / BYTES_A_SECOND);
  const program = fileURLToPath(new URL('./integrity-child.js', import.meta.url));
  const child = spawn(process.execPath, [program, directory], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, seconds * 1000);
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors = (errors + chunk.toString()).slice(-MAX_ERROR_CHARACTERS);
  });
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let report: IntegrityReport | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line) as { records?: number; report?: IntegrityReport };
    if (message.records !== undefined) onProgress(message.records);
    report = message.report ?? report;
  }
  const [status, signal] = await closed;
  clearTimeout(timer);
  if (report !== undefined && status === 0) return report;
  if (late) return { failure: `it was not done within ${seconds} seconds` };
  return { failure: `it ended with ${signal ?? `status ${status}`}${errors === '' ? '' : `: ${errors}`}` };
}

const MAX_ERROR_CHARACTERS = 2000;

/** The file may be anything, or missing: the check itself says so. */
function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
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
