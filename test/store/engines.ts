import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backend, type Clock, nativeStatus, openLmdb } from 'wafstate';
import type { KeyValue } from '#dist/store/key-value.js';
import { LMDB } from '#dist/store/kind/lmdb.js';
import { MEMORY } from '#dist/store/kind/memory.js';

/** Opens a fresh store, bounded where `maxSize` is given. */
export interface StoreEngine {
  readonly name: string;
  readonly open: (clock: Clock, maxSize?: number) => Promise<Opened>;
}

export interface Opened {
  readonly keyValue: KeyValue;
  readonly backend: Backend;
  readonly close: () => Promise<void>;
}

const LMDB_IMPLEMENTATIONS = nativeStatus().loaded
  ? (['native', 'typescript'] as const)
  : (['typescript'] as const);
if (!nativeStatus().loaded) console.warn(`stores on LMDB natively are not tested: ${nativeStatus().reason}`);

/** A long interval: in the tests nothing is swept unless they say so. */
const NEVER = 86_400_000;

export const ENGINES: readonly StoreEngine[] = [
  {
    name: 'memory',
    open: async (clock, maxSize = 10_000) => {
      const store = await MEMORY.open({ max_size: maxSize, cleanup_interval: NEVER }, clock, undefined);
      return { keyValue: store.keyValue, backend: store.backend, close: () => store.close() };
    },
  },
  ...LMDB_IMPLEMENTATIONS.map(
    (implementation): StoreEngine => ({
      name: `lmdb ${implementation}`,
      open: async (clock, maxSize) => {
        const directory = mkdtempSync(join(tmpdir(), 'wafstate-store-'));
        const backend = await openLmdb({
          path: join(directory, 'state'),
          durability: 'relaxed',
          cleanupInterval: 0,
          clock,
          implementation,
        });
        const config = { database: 'main', namespace: 'test', max_size: maxSize, cleanup_interval: NEVER };
        const { keyValue } = await LMDB.open(config, clock, backend);
        return {
          keyValue,
          backend,
          close: async () => {
            await backend.close();
            rmSync(directory, { recursive: true });
          },
        };
      },
    }),
  ),
];
