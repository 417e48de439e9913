/** What a backend may be able to do. A deployment names those it requires. */
export const FEATURES = [
  /** Honours `expect: revision` and `expect: 'absent'`, and reports `conflict`. */
  'optimistic_revisions',
  /** A record's batch is published whole or not at all. */
  'atomic_batches',
  /** Every variable has its own deadline. */
  'per_variable_expiry',
  /** `cleanup` does bounded work and makes progress. */
  'bounded_cleanup',
  /** An acknowledged commit survives the death of the process. */
  'durable_storage',
  /** A commit settles at its deadline, whatever the engine does. */
  'hard_deadlines',
  /** Several records of one commit are published all or none. */
  'multi_record_atomicity',
  /** Honours `expect: 'any'`: the log is applied to whatever is current, in one step. */
  'server_side_rebase',
  /** `scan` lists records in byte order. */
  'ordered_scan',
  /** `loadSync` exists. */
  'synchronous_load',
  /** `commitSync` exists. */
  'synchronous_commit',
  /** Every thread of the process that opens it sees the same records. */
  'shared_across_threads',
  'shared_across_processes',
  'shared_across_hosts',
] as const;

export type Feature = (typeof FEATURES)[number];
