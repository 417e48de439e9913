import { join } from 'node:path';
import { describe, it } from 'vitest';
import { type Feature, type LmdbBackend, openLmdb } from 'wafstate';
import { conformance } from 'wafstate/testing';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

const FEATURES: readonly Feature[] = [
  'optimistic_revisions',
  'atomic_batches',
  'per_variable_expiry',
  'bounded_cleanup',
  'durable_storage',
  'hard_deadlines',
  'multi_record_atomicity',
  'server_side_rebase',
  'ordered_scan',
  'synchronous_load',
  'shared_across_threads',
  'shared_across_processes',
];

for (const implementation of IMPLEMENTATIONS) {
  // The rules do not depend on it; each is used by one of the two.
  const durability = implementation === 'native' ? 'durable' : 'relaxed';
  const directory = scratchDirectory();
  let count = 0;
  const open = (): Promise<LmdbBackend> =>
    openLmdb({ path: join(directory, String(count)), mapSize: 2 ** 27, durability, implementation });
  conformance(
    { describe, it },
    {
      name: `lmdb ${implementation} ${durability}`,
      features: FEATURES,
      open: () => {
        count++;
        return open();
      },
      reopen: open,
    },
  );
}
