import { histories } from './history.js';
import { arithmetic } from './rules/arithmetic.js';
import { atomicity } from './rules/atomicity.js';
import { byteStrings } from './rules/bytes.js';
import { cleanup } from './rules/cleanup.js';
import { concurrency } from './rules/concurrency.js';
import { conflicts } from './rules/conflicts.js';
import { decay } from './rules/decay.js';
import { durability } from './rules/durability.js';
import { expiry } from './rules/expiry.js';
import { features } from './rules/features.js';
import { lifecycle } from './rules/lifecycle.js';
import { limits } from './rules/limits.js';
import { loading } from './rules/loading.js';
import { multiRecord } from './rules/multi-record.js';
import { mutations } from './rules/mutations.js';
import { revisions } from './rules/revisions.js';
import { scans } from './rules/scan.js';
import { synchronousCommits } from './rules/synchronous.js';
import { timeouts } from './rules/timeout.js';
import type { Runner, Subject } from './runner.js';
import { Suite } from './suite.js';

/**
 * Lists the tests that every `Backend` must pass with the given runner: those of the contract and those of each feature that the
 * subject has; for a feature that it does not have, that it is refused. About 190 tests, each on an engine of its own.
 *
 *     import { describe, it } from 'vitest';
 *     import { conformance } from 'wafstate/testing';
 *
 *     conformance({ describe, it }, { name: 'mine', features: ['atomic_batches', …], open: () => openMine() });
 */
export function conformance(runner: Runner, subject: Subject): void {
  const suite = new Suite(runner, subject);
  suite.area(`${subject.name} conforms:`, () => {
    features(suite);
    loading(suite);
    revisions(suite);
    mutations(suite);
    arithmetic(suite);
    expiry(suite);
    decay(suite);
    timeouts(suite);
    atomicity(suite);
    conflicts(suite);
    multiRecord(suite);
    synchronousCommits(suite);
    limits(suite);
    cleanup(suite);
    scans(suite);
    concurrency(suite);
    lifecycle(suite);
    byteStrings(suite);
    durability(suite);
    histories(suite);
  });
}
