import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { join, resolve } from 'node:path';
import { nativeStatus } from 'wafstate';
import { Histogram, type Percentiles } from './histogram.js';
import type { Environment } from './report.js';
import { peerVersion } from './subjects/peers.js';
import { redisVersion } from './subjects/redis-server.js';

const PEERS = ['tinybench', 'rate-limiter-flexible', 'ioredis', 'better-sqlite3'];
const SYNCS = 64;
const PAGE = 4096;

/** What the figures depend on. `directory`: where the state of the subjects is kept. */
export function describeEnvironment(directory: string): Omit<Environment, 'loadAverage'> {
  const native = nativeStatus();
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: `${type()} ${release()}`,
    filesystem: filesystemOf(directory),
    fsyncMicroseconds: measureSync(directory),
    versions: versions(),
    native: native.loaded ? 'loaded' : `not loaded: ${native.reason}`,
  };
}

export function loadAverage(): number {
  return loadavg()[0] ?? 0;
}

function versions(): Record<string, string> {
  const require = createRequire(import.meta.url);
  const own = require(require.resolve('wafstate/package.json')) as { version: string };
  const found: [string, string | undefined][] = [
    ['wafstate', own.version],
    ['node', process.versions.node],
    ['v8', process.versions.v8],
    ['lmdb', packageVersion('lmdb')],
    ['piscina', packageVersion('piscina')],
    ...PEERS.map((name): [string, string | undefined] => [name, peerVersion(name)]),
    ['redis-server', redisVersion()],
    ['C compiler', compilerVersion()],
  ];
  return Object.fromEntries(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** By the file, since not every package exports its package.json. */
function packageVersion(name: string): string | undefined {
  for (const modules of createRequire(import.meta.url).resolve.paths(name) ?? []) {
    try {
      const { version } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as {
        version: string;
      };
      return version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

function compilerVersion(): string | undefined {
  try {
    return execFileSync(process.env['CC'] ?? 'cc', ['--version'], { encoding: 'utf8' }).split('\n')[0];
  } catch {
    // No compiler: the C program is then left out, and the report says why.
    return undefined;
  }
}

/** The type of the mount that holds the directory, by the longest mount point above it. */
function filesystemOf(directory: string): string {
  if (process.platform !== 'linux') return 'unknown';
  const path = `${resolve(directory)}/`;
  let best = { point: '', type: 'unknown' };
  for (const line of readFileSync('/proc/self/mounts', 'utf8').split('\n')) {
    const [, point = '', kind = ''] = line.split(' ');
    const prefix = point.endsWith('/') ? point : `${point}/`;
    if (point.length >= best.point.length && path.startsWith(prefix)) best = { point, type: kind };
  }
  return best.type;
}

/** A page appended and synced, as often as gives a p99 some meaning. */
function measureSync(directory: string): Percentiles {
  const path = join(directory, 'fsync');
  const histogram = new Histogram();
  const page = Buffer.alloc(PAGE, 1);
  const file = openSync(path, 'w');
  try {
    for (let i = 0; i < SYNCS; i++) {
      const start = performance.now();
      writeSync(file, page);
      fdatasyncSync(file);
      histogram.record((performance.now() - start) * 1e6);
    }
  } finally {
    closeSync(file);
    rmSync(path);
  }
  return histogram.percentiles(1000);
}
