import { describe, it } from 'vitest';
import { type Feature, nativeStatus, openSharedMemory } from 'wafstate';
import { conformance } from 'wafstate/testing';

const FEATURES: readonly Feature[] = [
  'optimistic_revisions',
  'atomic_batches',
  'per_variable_expiry',
  'bounded_cleanup',
  'hard_deadlines',
  'multi_record_atomicity',
  'server_side_rebase',
  'ordered_scan',
  'synchronous_load',
  'synchronous_commit',
  'shared_across_threads',
];

// A table lives to the end of the process: each test has one of its own, and none is large.
let tables = 0;

if (nativeStatus().loaded) {
  conformance(
    { describe, it },
    {
      name: 'shared memory',
      features: FEATURES,
      open: () => openSharedMemory({ name: `conformance ${tables++}`, maxBytes: 2 ** 24 }),
    },
  );
} else {
  describe('shared memory', () => {
    it(`is not tested: there is no addon (${nativeStatus().reason})`, () => undefined);
  });
}
