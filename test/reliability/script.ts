import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const TORTURE = fileURLToPath(new URL('../../scripts/torture.mjs', import.meta.url));

export interface TortureRun {
  readonly implementation: string;
  readonly durability: string;
  readonly faults: readonly string[];
  readonly [figure: string]: unknown;
}

/** Runs `npm run torture` with these options, and returns what it says of each implementation and durability. */
export async function torture(...options: string[]): Promise<readonly TortureRun[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [TORTURE, '--json', ...options]).catch(
    // It ends with status 1 where it found faults: the figures tell which.
    (error: { stdout: string }) => error,
  );
  return JSON.parse(stdout).runs;
}
