import type { Backend } from '../contract/backend.js';
import type { Feature } from '../contract/features.js';

/**
 * What the suite needs of a test runner. vitest, node:test, mocha and jest all have both, so the suite depends on
 * none of them.
 */
export interface Runner {
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => Promise<void>) => void;
}

/** The engine under test. */
export interface Subject {
  /** The heading of its tests. */
  readonly name: string;
  /** What the engine advertises. Declared here because tests are listed before an engine is open; a test compares the two. */
  readonly features: Iterable<Feature>;
  /**
   * Opens an empty engine. Called once for each test; the suite closes what it opened. All times that the suite passes
   * begin in the year 2096, so an engine's own sweeps by the system's clock find nothing to do.
   */
  readonly open: () => Promise<Backend>;
  /** Opens again, with its data, what the last `open` made and the suite has closed. Needed by `durable_storage`. */
  readonly reopen?: (() => Promise<Backend>) | undefined;
  /** Of the random histories: the same seed makes the same ones. Default 1. */
  readonly seed?: number | undefined;
  /** How many random histories are played, each on an engine of its own. Default 20. */
  readonly histories?: number | undefined;
}
