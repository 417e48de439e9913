import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Durability } from '../subject.js';

/** A private Redis on a Unix socket in `directory`: no port, nobody else's data, gone with this process. */
export interface RedisServer {
  readonly socket: string;
  stop(): Promise<void>;
}

const START_MS = 5000;

/** `v=7.0.15`, or `undefined` where there is no redis-server. */
export function redisVersion(): string | undefined {
  try {
    return /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1];
  } catch {
    // Absent, or not executable: to the benchmark that is the same, and the report says that it was left out.
    return undefined;
  }
}

/**
 * Durable: the append-only file is synced before an answer (`appendfsync always`). Relaxed: once a second (`everysec`).
 */
export async function startRedis(directory: string, durability: Durability): Promise<RedisServer> {
  const socket = join(directory, 'redis.sock');
  const fsync = durability === 'durable' ? 'always' : 'everysec';
  const server = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', socket, '--dir', directory, '--save', ''].concat(
      ['--appendonly', 'yes', '--appendfsync', fsync],
      ['--daemonize', 'no'],
    ),
    { stdio: 'ignore' },
  );
  const kill = (): void => {
    server.kill('SIGKILL');
  };
  process.once('exit', kill);
  const ended = endOf(server);
  for (const start = performance.now(); !existsSync(socket); await sleep(10)) {
    if (server.exitCode !== null || performance.now() - start > START_MS) {
      throw new Error(`redis-server did not start in ${START_MS} ms, status ${server.exitCode}`);
    }
  }
  return {
    socket,
    stop: async () => {
      server.kill('SIGTERM');
      await ended;
      process.off('exit', kill);
    },
  };
}

function endOf(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('exit', () => resolve());
    server.once('error', reject);
  });
}
