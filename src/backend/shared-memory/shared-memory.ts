import {
  ABI_VERSION,
  type Backend,
  type CleanupBudget,
  type CleanupResult,
  type CommitOptions,
  type CommitResult,
  type Counted,
  type CounterWrite,
  overdue,
  type RecordWrite,
  type ScanPage,
  type ScanQuery,
} from '../../contract/backend.js';
import { checkCleanup, checkCommit, checkCount, checkLoad, checkScan } from '../../contract/check.js';
import { WafStateError } from '../../contract/errors.js';
import type { Feature } from '../../contract/features.js';
import type { Limits } from '../../contract/limits.js';
import { ABSENT, type Snapshot } from '../../contract/snapshot.js';
import type { RecordName } from '../../contract/space.js';
import { loadAddon, nativeStatus } from '../../record/addon.js';
import { recordSnapshot } from '../../record/record-snapshot.js';
import { refusalError } from '../../record/refusal.js';
import { countedAt, refusalAt, resultsAt } from '../../record/reply.js';
import { type Refusal, Status } from '../../record/status.js';
import { SLICE, Sweeper } from '../sweeper.js';
import { type Evictions, evictionsAreWatched, publishEvictions } from './evictions.js';
import { type SharedTableAddon, TableBound } from './native-addon.js';
import {
  type ResolvedSharedMemoryOptions,
  requireSameBounds,
  resolveSharedMemoryOptions,
  type SharedMemoryOptions,
} from './options.js';
import { scan } from './scan.js';
import { TableHandle } from './table.js';

const FEATURES: ReadonlySet<Feature> = new Set<Feature>([
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
]);

/** Figures of the table, all threads together. */
export interface SharedMemoryStats {
  readonly records: number;
  /** What the table takes of memory, its own structures and free cells included; never more than `maxBytes`. */
  readonly bytes: number;
  readonly maxBytes: number;
  readonly maxRecords: number;
  /** Records that made room for others, since the table was made. */
  readonly evicted: Evictions;
  /** Commits that were refused for want of room. */
  readonly refused: number;
}

export interface SharedMemoryBackend extends Backend {
  loadSync(record: RecordName, now: bigint, limits: Limits, hidden?: boolean): Snapshot;
  stats(): SharedMemoryStats;
}

/**
 * A table in the memory of this process, in C++: every thread that opens its name sees the same records, and it lives to the
 * end of the process, also when all have closed it. Bounded, since the names of records come from clients. A load or commit
 * takes one or two microseconds, of which most is JavaScript's.
 *
 * Rejects with `invalid_option`, also where the table was made with other bounds, and with `missing_feature` where the addon
 * is not loaded: there is no such table in TypeScript, since threads of JavaScript share no objects.
 */
export async function openSharedMemory(options: SharedMemoryOptions): Promise<SharedMemoryBackend> {
  const resolved = resolveSharedMemoryOptions(options);
  const addon = loadAddon<SharedTableAddon>();
  if (addon === undefined) {
    throw new WafStateError(
      'missing_feature',
      `openSharedMemory needs the C++ addon, which is not loaded (${nativeStatus().reason}); use openMemory within one thread, or openLmdb, which threads and processes share`,
      { details: { option: 'shared_across_threads' } },
    );
  }
  return new SharedMemory(addon, resolved);
}

class SharedMemory implements SharedMemoryBackend {
  readonly abiVersion = ABI_VERSION;
  readonly name = 'shared-memory';
  readonly features = FEATURES;

  readonly #options: ResolvedSharedMemoryOptions;
  readonly #table: TableHandle;
  readonly #sweeper: Sweeper;
  #closed = false;

  constructor(addon: SharedTableAddon, options: ResolvedSharedMemoryOptions) {
    const { name, maxBytes, maxRecords, onFull, cleanupInterval, clock } = options;
    const opened = addon.sharedTableOpen(name, maxBytes, maxRecords, onFull === 'evict');
    this.#options = options;
    this.#table = new TableHandle(addon, opened);
    try {
      requireSameBounds(options, opened);
    } catch (error) {
      this.#table.close();
      throw error;
    }
    this.#sweeper = new Sweeper(
      cleanupInterval,
      (milliseconds) => this.#table.claimSweep(milliseconds),
      () => {
        const now = clock.now();
        return () => this.#table.cleanup(now, SLICE).wrapped;
      },
    );
  }

  loadSync(name: RecordName, now: bigint, limits: Limits, hidden = false): Snapshot {
    this.#assertOpen();
    checkLoad(name, now, limits);
    const at = this.#table.load(name);
    return at < 0 ? ABSENT : recordSnapshot(this.#table.slab, at, now, hidden);
  }

  async load(name: RecordName, now: bigint, limits: Limits, hidden = false): Promise<Snapshot> {
    return this.loadSync(name, now, limits, hidden);
  }

  async commit(writes: readonly RecordWrite[], options: CommitOptions): Promise<readonly CommitResult[]> {
    return this.commitSync(writes, options);
  }

  commitSync(writes: readonly RecordWrite[], options: CommitOptions): readonly CommitResult[] {
    this.#assertOpen();
    checkCommit(writes, options);
    // A commit is done when it returns, so that a deadline can only be over before.
    const late = overdue(options);
    if (late !== undefined) throw late;
    if (writes.length === 0) return [];
    const at = this.#table.commit(writes, options.now, options.limits);
    const { slab } = this.#table;
    const refusal = refusalAt(slab, at);
    const outcome = refusal === undefined ? resultsAt(slab, at, writes) : this.#errorOf(refusal, writes);
    this.#tellOfEvictions();
    if (outcome instanceof WafStateError) throw outcome;
    return outcome;
  }

  countSync(count: CounterWrite, options: CommitOptions): Counted | undefined {
    this.#assertOpen();
    checkCount(count, options);
    const late = overdue(options);
    if (late !== undefined) throw late;
    const at = this.#table.count(count, options.now, options.limits);
    const { slab } = this.#table;
    const refusal = refusalAt(slab, at);
    const outcome =
      refusal === undefined
        ? countedAt(slab, at)
        : this.#errorOf(refusal, [{ record: count.record, expect: 'any', mutations: [] }]);
    this.#tellOfEvictions();
    if (outcome instanceof WafStateError) throw outcome;
    return outcome;
  }

  #errorOf(refusal: Refusal, writes: readonly RecordWrite[]): WafStateError {
    return refusal.status === Status.tableFull
      ? fullTable(refusal, this.#table.boundMet())
      : refusalError(refusal, writes);
  }

  /** Last of all, when the answer has been read: who listens may use this table, and that takes the place of the answer. */
  #tellOfEvictions(): void {
    if (this.#table.evicted && evictionsAreWatched()) {
      publishEvictions(this.#options.name, this.#table.evictions());
    }
  }

  async cleanup(now: bigint, budget: CleanupBudget): Promise<CleanupResult> {
    this.#assertOpen();
    checkCleanup(now, budget);
    return this.#table.cleanup(now, budget);
  }

  async scan(query: ScanQuery): Promise<ScanPage> {
    this.#assertOpen();
    checkScan(query);
    return scan(this.#table, query);
  }

  stats(): SharedMemoryStats {
    this.#assertOpen();
    const { maxBytes, maxRecords } = this.#options;
    return { ...this.#table.stats(), maxBytes, maxRecords };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#sweeper.stop();
    this.#table.close();
  }

  #assertOpen(): void {
    if (this.#closed) {
      throw new WafStateError('closed', 'this handle on the shared table is closed; open the name again');
    }
  }
}

function fullTable({ limit, actual }: Refusal, bound: TableBound): WafStateError {
  const [option, text] = FULL[bound];
  return new WafStateError('capacity_exceeded', text(limit, actual), { details: { option, limit, actual } });
}

const FULL = {
  [TableBound.bytes]: [
    'maxBytes',
    (limit: number, actual: number) =>
      `the shared table would take ${actual} bytes, maxBytes allows ${limit}; raise it, or let records expire sooner`,
  ],
  [TableBound.records]: [
    'maxRecords',
    (limit: number, actual: number) =>
      `the shared table would hold ${actual} records, maxRecords allows ${limit}; raise it, or let records expire sooner`,
  ],
  [TableBound.oneRecord]: [
    'maxBytes',
    (limit: number, actual: number) =>
      `the record would take ${actual} bytes, one record may take ${limit}, a quarter of maxBytes; raise it, or store less in the record`,
  ],
} as const;
