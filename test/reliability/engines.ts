import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import {
  type Backend,
  type CommitResult,
  DEFAULT_LIMITS,
  type LmdbStats,
  nativeStatus,
  openLmdb,
  openMemory,
  openSharedMemory,
  type Snapshot,
} from 'wafstate';

/** Every method that an engine has, those beyond the contract included. */
export type Engine = Backend & Required<Pick<Backend, 'loadSync'>> & { stats(): unknown };

export interface EngineKind {
  readonly name: string;
  /** Opens the engine of this number: the same number again opens the same state, where the engine shares it. */
  readonly open: (number: number) => Promise<Engine>;
  /** A second open, and other threads, see the same records. */
  readonly shared: boolean;
  /** Commits are in flight for a while: they are not done when the call returns. */
  readonly asynchronous: boolean;
}

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-reliability-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

export function statePath(number: number | string): string {
  return join(scratch, String(number));
}

const lmdb = (implementation: 'native' | 'typescript'): EngineKind => ({
  name: `LMDB, ${implementation}`,
  open: (number) =>
    openLmdb({
      path: statePath(`${implementation} ${number}`),
      implementation,
      mapSize: 2 ** 24,
      cleanupInterval: 0,
    }),
  shared: true,
  asynchronous: true,
});

/** All engines that this installation has. */
export const ENGINES: readonly EngineKind[] = [
  {
    name: 'memory',
    open: async () => openMemory({ cleanupInterval: 0 }),
    shared: false,
    asynchronous: false,
  },
  lmdb('typescript'),
  ...(nativeStatus().loaded
    ? [
        lmdb('native'),
        {
          name: 'shared memory',
          open: async (number: number) =>
            openSharedMemory({ name: `reliability ${number}`, cleanupInterval: 0 }),
          shared: true,
          asynchronous: false,
        },
      ]
    : []),
];

if (!nativeStatus().loaded)
  console.warn(`not tested: LMDB natively and shared memory: ${nativeStatus().reason}`);

export const NOW = 4_000_000_000_000_000_000n;
export const RECORD = { space: 1, applicationId: '', key: 'k' } as never;

export function add(engine: Backend, record: never = RECORD): Promise<readonly CommitResult[]> {
  const mutations = [{ type: 'add', name: 'n', delta: 1n } as never];
  return engine.commit([{ record, expect: 'any', mutations }], { now: NOW, limits: DEFAULT_LIMITS });
}

export function counted(snapshot: Snapshot): number {
  return Number(snapshot.variables.get('n' as never)?.value ?? 0);
}

export function isLmdb(stats: unknown): stats is LmdbStats {
  return typeof stats === 'object' && stats !== null && 'queuedRequests' in stats;
}
