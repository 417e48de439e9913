import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { closeAfterwards } from '../guard/servers.js';
import { MAIN } from './program.js';

export interface RunningGuard {
  readonly port: number;
  readonly adminPort: number;
  readonly child: ChildProcess;
  /** Lines of standard error so far. */
  readonly events: string[];
  /** SIGTERM, and its status. */
  stop(): Promise<number | null>;
}

/** `wafstate guard` in a process of its own, in front of a server on this machine. */
export async function startGuard(
  rules: string,
  upstreamPort: number,
  more: readonly string[] = [],
): Promise<RunningGuard> {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-guard-'));
  const file = join(directory, 'rules.conf');
  writeFileSync(file, rules);
  const argv = [MAIN, 'guard', '--rules', file, '--upstream', `http://127.0.0.1:${upstreamPort}`];
  const fixed = [
    '--listen',
    '127.0.0.1:0',
    '--admin-port',
    '0',
    '--path',
    join(directory, 'state'),
    '--json',
  ];
  const child = spawn(process.execPath, [...argv, ...fixed, ...more], { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  closeAfterwards(async () => {
    child.kill('SIGKILL');
    await exited;
    rmSync(directory, { recursive: true });
  });
  const events: string[] = [];
  createInterface(child.stderr).on('line', (line) => events.push(line));
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(() => Promise.reject(new Error(events.join('\n')))),
  ])) as [string];
  const { listening, admin } = JSON.parse(line) as { listening: string; admin: string };
  return {
    port: Number(listening.split(':')[1]),
    adminPort: Number(admin.split(':')[1]),
    child,
    events,
    stop: async () => {
      child.kill('SIGTERM');
      const [status] = (await exited) as [number | null];
      return status;
    },
  };
}
