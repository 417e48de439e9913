import {
  ABI_VERSION,
  type Backend,
  type CleanupBudget,
  type CleanupResult,
  type CommitOptions,
  type CommitResult,
  type RecordWrite,
  type ScanPage,
  type ScanQuery,
} from '../../contract/backend.js';
import { checkCleanup, checkCommit, checkLoad, checkScan } from '../../contract/check.js';
import { WafStateError } from '../../contract/errors.js';
import type { Feature } from '../../contract/features.js';
import type { Limits } from '../../contract/limits.js';
import { ABSENT, type Snapshot } from '../../contract/snapshot.js';
import type { RecordName } from '../../contract/space.js';
import { keyString } from '../../record/key.js';
import type { Environment, EnvironmentStats } from './environment.js';
import type { GroupCommit } from './group-commit.js';
import type { OnConflict, RestoreAnswer } from './native-addon.js';
import type { ResolvedLmdbOptions } from './options.js';
import { packRecords } from './restore.js';
import { scan } from './scan.js';
import { snapshotOfStored } from './stored-record.js';
import { Sweeper } from './sweeper.js';
import { SyncTimer } from './sync-timer.js';
import type { WriterHost } from './writer-host.js';

const FEATURES: ReadonlySet<Feature> = new Set<Feature>([
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
]);

/** What the environment holds, and what waits to get there. */
export interface LmdbStats extends EnvironmentStats {
  readonly implementation: 'native' | 'typescript';
  /** Commits that wait or are in flight, and their encoded bytes. */
  readonly queuedRequests: number;
  readonly queuedBytes: number;
  /** Own sweeps, and syncs of a relaxed environment, that failed since the backend was opened. */
  readonly sweepFailures: number;
  readonly syncFailures: number;
}

export interface LmdbBackend extends Backend {
  loadSync(record: RecordName, now: bigint, limits: Limits, hidden?: boolean): Snapshot;
  /**
   * Puts records back as they were, in the bytes of docs/format.md: facts, deadlines, clocks and all, but under new revisions, since a
   * revision must never stand for two states. One transaction, all or none; no more than some thousand at a time. A place is taken by a
   * corrupt record, too, but not by one that is timed out at `now`. Rejects with `corrupt_data` where one of them is no record, and
   * with `capacity_exceeded` where there is no room for all. If the writer dies meanwhile (`unavailable`) they may be there or not.
   */
  restore(records: readonly Uint8Array[], onConflict: OnConflict, now: bigint): Promise<RestoreAnswer>;
  /** Costs a look at the tree's figures and, in TypeScript, a walk over the engine's own keys. */
  stats(): LmdbStats;
}

/** The parts that `openLmdb` has put together. */
export interface LmdbParts {
  readonly options: ResolvedLmdbOptions;
  readonly environment: Environment;
  /** Undefined where it is read-only. */
  readonly writing: { readonly host: WriterHost; readonly commits: GroupCommit } | undefined;
  /** Lets go of what only `openLmdb` knows: the registry's entry and the exit handler. */
  readonly release: () => void;
}

export class Lmdb implements LmdbBackend {
  readonly abiVersion = ABI_VERSION;
  readonly name = 'lmdb';
  readonly features = FEATURES;

  readonly #parts: LmdbParts;
  readonly #sweeper: Sweeper;
  readonly #syncs: SyncTimer;
  #closing: Promise<void> | undefined;

  constructor(parts: LmdbParts) {
    this.#parts = parts;
    const { options, writing } = parts;
    const host = writing?.host;
    this.#sweeper = new Sweeper(host === undefined ? 0 : options.cleanupInterval, (budget, interval) =>
      this.#writing().host.cleanup({ now: options.clock.now(), budget, interval }),
    );
    this.#syncs = new SyncTimer(
      host === undefined || options.durability === 'durable' ? 0 : options.syncInterval,
      () => this.#writing().host.sync(),
    );
  }

  loadSync(record: RecordName, now: bigint, limits: Limits, hidden = false): Snapshot {
    this.#assertOpen();
    checkLoad(record, now, limits);
    const key = keyString(record);
    const bytes = this.#parts.environment.load(key);
    return bytes === undefined ? ABSENT : snapshotOfStored(bytes, key, now, hidden);
  }

  async load(record: RecordName, now: bigint, limits: Limits, hidden = false): Promise<Snapshot> {
    return this.loadSync(record, now, limits, hidden);
  }

  commit(writes: readonly RecordWrite[], options: CommitOptions): Promise<readonly CommitResult[]> {
    try {
      this.#assertOpen();
      checkCommit(writes, options);
      const { commits } = this.#writing();
      return writes.length === 0 ? Promise.resolve([]) : commits.commit(writes, options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async cleanup(now: bigint, budget: CleanupBudget): Promise<CleanupResult> {
    this.#assertOpen();
    checkCleanup(now, budget);
    const { skipped: _, ...result } = await this.#writing().host.cleanup({ now, budget, interval: 0n });
    return result;
  }

  async restore(records: readonly Uint8Array[], onConflict: OnConflict, now: bigint): Promise<RestoreAnswer> {
    this.#assertOpen();
    return this.#writing().host.restore({ records: packRecords(records), onConflict, now });
  }

  async scan(query: ScanQuery): Promise<ScanPage> {
    this.#assertOpen();
    checkScan(query);
    return scan(this.#parts.environment, query);
  }

  stats(): LmdbStats {
    this.#assertOpen();
    const { environment, writing } = this.#parts;
    return {
      ...environment.stats(),
      implementation: environment.implementation,
      queuedRequests: writing?.commits.requests ?? 0,
      queuedBytes: writing?.commits.bytes ?? 0,
      sweepFailures: this.#sweeper.failures,
      syncFailures: this.#syncs.failures,
    };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { environment, writing, release } = this.#parts;
    writing?.commits.refuse(closed());
    await this.#sweeper.stop();
    this.#syncs.stop();
    try {
      await writing?.commits.drain();
      await writing?.host.close();
    } finally {
      await environment.close();
      release();
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw closed();
  }

  #writing(): NonNullable<LmdbParts['writing']> {
    const { writing } = this.#parts;
    if (writing !== undefined) return writing;
    throw new WafStateError(
      'unsupported',
      'the LMDB environment was opened with readOnly: true; open it for writing',
      {
        details: { option: 'readOnly' },
      },
    );
  }
}

function closed(): WafStateError {
  return new WafStateError('closed', 'the LMDB backend is closed; open another');
}
