import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { WafStateError } from '../../contract/errors.js';
import { systemError } from '../../contract/system-error.js';

/** How a process ended, or why the system gave none. */
export type Ending =
  | { readonly status: number | null; readonly signal: NodeJS.Signals | null }
  | WafStateError;

/**
 * Starts one of the engine's own programs on a directory, in a process that may die of what it reads there. `ended` never rejects. Throws
 * where the system has no room for a process and says so at once.
 */
export function startProgram<Child extends ChildProcess>(
  program: './integrity-child.js' | './pin-child.js',
  directory: string,
  stdio: StdioOptions,
): { readonly child: Child; readonly ended: Promise<Ending> } {
  const file = fileURLToPath(new URL(program, import.meta.url));
  let child: Child;
  try {
    const env = { ...process.env, NODE_OPTIONS: '' };
    child = spawn(process.execPath, [file, directory], { stdio, env }) as ChildProcess as Child;
  } catch (error) {
    throw refused(error);
  }
  const ended = once(child, 'close').then(
    ([status, signal]) => ({ status, signal }) as Ending,
    // Most reasons of the system come as an event, and such a child never closes.
    refused,
  );
  return { child, ended };
}

function refused(error: unknown): WafStateError {
  return systemError(error, `start ${process.execPath} as a process of its own`);
}
