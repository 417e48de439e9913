import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line as a user starts it, in a process of its own. */
export function wafstate(
  argv: readonly string[],
  options: { input?: Uint8Array; native?: string } = {},
): Run {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...argv], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    ...(options.input !== undefined && { input: options.input }),
    env: { ...process.env, ...(options.native !== undefined && { WAFSTATE_NATIVE: options.native }) },
  });
  return { status, stdout, stderr };
}

/** The one object that `--json` prints. */
export function json(run: Run): Record<string, unknown> {
  return JSON.parse(run.stdout) as Record<string, unknown>;
}
