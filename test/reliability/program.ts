import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PACKAGE = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What every program begins with: its arguments, the package, and a counter to work on. */
const PRELUDE = `
  import * as wafstate from ${JSON.stringify(PACKAGE)};
  const { openLmdb, openSharedMemory, openMemory, DEFAULT_LIMITS } = wafstate;
  const args = process.argv.slice(1);
  const NOW = 4_000_000_000_000_000_000n;
  const record = (key = 'k') => ({ space: 1, applicationId: '', key });
  const add = (backend, key, options = {}) => backend.commit(
    [{ record: record(key), expect: 'any', mutations: [{ type: 'add', name: 'n', delta: 1n }] }],
    { now: NOW, limits: DEFAULT_LIMITS, ...options });
  const set = (backend, key, bytes) => backend.commit(
    [{ record: record(key), expect: 'any', mutations: [{ type: 'set', name: 'v', value: 'v'.repeat(bytes) }] }],
    { now: NOW, limits: DEFAULT_LIMITS });
  const count = (backend, key) => Number(backend.loadSync(record(key), NOW, DEFAULT_LIMITS).variables.get('n')?.value ?? 0);
  const told = (promise) => promise.then(
    () => 'ok',
    (error) => [error.constructor.name, error.code, error.details?.option].filter(Boolean).join(' '));
  const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
`;

export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The lines of standard output. */
  readonly lines: readonly string[];
  readonly stderr: string;
}

/** Runs a program to its end. `shell` stands before it on a shell's command line, such as \`ulimit -n 64;\`. */
export function run(body: string, args: readonly string[] = [], shell = ''): Ended {
  const argv = ['--input-type=module', '-e', PRELUDE + body, ...args];
  const options = { encoding: 'utf8', cwd: ROOT, timeout: 55_000 } as const;
  const { status, signal, stdout, stderr } =
    shell === ''
      ? spawnSync(process.execPath, argv, options)
      : spawnSync('sh', ['-c', `${shell} exec "$0" "$@"`, process.execPath, ...argv], options);
  return { status, signal, lines: stdout.split('\n').filter((line) => line !== ''), stderr };
}

/** Starts a program, and waits until it has said `ready`. It ends with the test at the latest. */
export async function start(body: string, args: readonly string[] = []) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PRELUDE + body, ...args], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('ready')) resolve();
    });
    child.once('exit', (status, signal) =>
      reject(new Error(`the program ended too early: ${status ?? signal}`)),
    );
  });
  return { child, ended };
}
