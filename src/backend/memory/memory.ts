import {
  ABI_VERSION,
  type Backend,
  type CleanupBudget,
  type CleanupResult,
  type CommitOptions,
  type CommitResult,
  overdue,
  type RecordWrite,
  type ScanPage,
  type ScanQuery,
} from '../../contract/backend.js';
import { checkCleanup, checkCommit, checkLoad, checkScan } from '../../contract/check.js';
import { WafStateError } from '../../contract/errors.js';
import type { Feature } from '../../contract/features.js';
import type { Limits } from '../../contract/limits.js';
import { ABSENT, type Snapshot } from '../../contract/snapshot.js';
import { type RecordName, spaceName } from '../../contract/space.js';
import { applyWrite, committedValues, type Plan } from '../../record/apply.js';
import { refusalError } from '../../record/refusal.js';
import { Status } from '../../record/status.js';
import { SLICE, Sweeper } from '../sweeper.js';
import { Cleanup } from './cleanup.js';
import { Eviction } from './eviction.js';
import { costOf, MemoryRecord } from './memory-record.js';
import { type MemoryOptions, type ResolvedMemoryOptions, resolveMemoryOptions } from './options.js';
import { scan } from './scan.js';
import { Table } from './table.js';

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
]);

/** Figures since the engine was opened. */
export interface MemoryStats {
  readonly records: number;
  /**
   * An estimate of the heap that the records take: keys, names and values at a byte a byte, and 500 bytes a record and 150 a
   * variable for the objects around them.
   */
  readonly bytes: number;
  /** Records that made room for others. */
  readonly evicted: number;
  /** Of those, the records that were over, so that nobody missed them. */
  readonly evictedOver: number;
  /** Commits that were refused for want of room. */
  readonly refused: number;
}

export interface MemoryBackend extends Backend {
  loadSync(record: RecordName, now: bigint, limits: Limits, hidden?: boolean): Snapshot;
  stats(): MemoryStats;
}

/**
 * An engine in the memory of this thread: nothing is shared, nothing survives. A load or commit of a few variables takes
 * about a microsecond. Bounded, since the names of records come from clients: see `MemoryOptions`. Throws `invalid_option`.
 */
export function openMemory(options: MemoryOptions = {}): MemoryBackend {
  return new Memory(resolveMemoryOptions(options));
}

/** A write that was applied and is not yet published. */
interface Draft {
  readonly write: RecordWrite;
  readonly record: MemoryRecord | undefined;
  readonly plan: Plan;
}

class Memory implements MemoryBackend {
  readonly abiVersion = ABI_VERSION;
  readonly name = 'memory';
  readonly features = FEATURES;

  readonly #options: ResolvedMemoryOptions;
  readonly #table = new Table();
  readonly #eviction = new Eviction();
  readonly #cleanup: Cleanup;
  readonly #sweeper: Sweeper;
  /** Begins at the microseconds since the epoch, so that revisions of an earlier run are not met again. */
  #revision: number;
  #evicted = 0;
  #evictedOver = 0;
  #refused = 0;
  #closed = false;

  constructor(options: ResolvedMemoryOptions) {
    this.#options = options;
    this.#revision = firstRevision(options.clock.now());
    this.#cleanup = new Cleanup(this.#table, {
      lastRevision: () => this.#revision,
      remove: (record) => this.#remove(record),
      changed: (record, costBefore) => {
        this.#table.grown(record.cost - costBefore);
        record.revision = this.#nextRevision();
      },
      kept: (record, now) => this.#eviction.release(record, now),
    });
    this.#sweeper = new Sweeper(
      options.cleanupInterval,
      () => true,
      () => {
        const now = options.clock.now();
        return () => this.#cleanup.run(now, SLICE).wrapped;
      },
    );
  }

  loadSync(name: RecordName, now: bigint, limits: Limits, hidden = false): Snapshot {
    this.#assertOpen();
    checkLoad(name, now, limits);
    const record = this.#table.find(name);
    if (record === undefined) return ABSENT;
    this.#eviction.loaded(record);
    return record.snapshot(now, hidden);
  }

  async load(name: RecordName, now: bigint, limits: Limits, hidden = false): Promise<Snapshot> {
    return this.loadSync(name, now, limits, hidden);
  }

  async commit(writes: readonly RecordWrite[], options: CommitOptions): Promise<readonly CommitResult[]> {
    this.#assertOpen();
    checkCommit(writes, options);
    // A commit is done when it returns, so that a deadline can only be over before.
    const late = overdue(options);
    if (late !== undefined) throw late;
    const { now, limits } = options;
    const drafts: Draft[] = [];
    for (const write of writes) {
      const record = this.#table.find(write.record);
      const plan = applyWrite(record, write, now, limits);
      if (plan.status !== Status.applied) throw refusalError({ ...plan, write: drafts.length }, writes);
      drafts.push({ write, record, plan });
    }
    this.#makeRoom(drafts, now);
    return drafts.map((draft) => this.#publish(draft, now));
  }

  async cleanup(now: bigint, budget: CleanupBudget): Promise<CleanupResult> {
    this.#assertOpen();
    checkCleanup(now, budget);
    return this.#cleanup.run(now, budget);
  }

  async scan(query: ScanQuery): Promise<ScanPage> {
    this.#assertOpen();
    checkScan(query);
    return scan(this.#table, query);
  }

  stats(): MemoryStats {
    this.#assertOpen();
    return {
      records: this.#table.count,
      bytes: this.#table.bytes,
      evicted: this.#evicted,
      evictedOver: this.#evictedOver,
      refused: this.#refused,
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sweeper.stop();
    this.#table.clear();
  }

  #publish({ write, record, plan }: Draft, now: bigint): CommitResult {
    const { facts, existed } = plan;
    if (facts === undefined) {
      if (record !== undefined) this.#remove(record);
      return { revision: 0, existed, values: committedValues(plan, now) };
    }
    const revision = this.#nextRevision();
    let current = record;
    if (current === undefined) {
      current = new MemoryRecord(write.record, revision, facts);
      current.publish(plan, facts, revision, now);
      this.#table.insert(current);
    } else {
      const cost = current.cost;
      current.publish(plan, facts, revision, now);
      this.#table.grown(current.cost - cost);
    }
    this.#eviction.committed(current, now);
    return { revision, existed, values: committedValues(plan, now) };
  }

  #remove(record: MemoryRecord): void {
    record.queue?.remove(record);
    this.#table.delete(record);
  }

  /** Brings the table to where the drafts fit in, or throws `capacity_exceeded` before it has touched anything. */
  #makeRoom(drafts: readonly Draft[], now: bigint): void {
    const { maxRecords, maxBytes, onFull } = this.#options;
    let records = 0;
    let bytes = 0;
    for (const { write, record, plan } of drafts) {
      const cost = plan.facts === undefined ? 0 : costOf(write.record, plan.size, plan.count);
      bytes += cost - (record?.cost ?? 0);
      records += (plan.facts === undefined ? 0 : 1) - (record === undefined ? 0 : 1);
    }
    if (records <= 0 && bytes <= 0) return;
    const table = this.#table;
    if (table.count + records <= maxRecords && table.bytes + bytes <= maxBytes) return;
    const spared = new Set<MemoryRecord>();
    for (const { record } of drafts) if (record !== undefined) spared.add(record);
    const own = drafts.reduce((sum, { record }) => sum + (record?.cost ?? 0), 0) + bytes;
    if (spared.size + records > maxRecords || own > maxBytes) throw this.#full(drafts, records, bytes);
    while (table.count + records > maxRecords || table.bytes + bytes > maxBytes) {
      const victim = this.#eviction.choose(now, spared);
      const over = victim?.isOver(now) === true;
      if (victim === undefined || (onFull === 'refuse' && !over)) throw this.#full(drafts, records, bytes);
      this.#remove(victim);
      this.#evicted++;
      if (over) this.#evictedOver++;
    }
  }

  #full(drafts: readonly Draft[], records: number, bytes: number): WafStateError {
    this.#refused++;
    const { maxRecords, maxBytes } = this.#options;
    const space = spaceName((drafts[0] as Draft).write.record.space);
    const option = this.#table.count + records > maxRecords ? 'maxRecords' : 'maxBytes';
    const [limit, actual, unit] =
      option === 'maxRecords'
        ? [maxRecords, this.#table.count + records, 'records']
        : [maxBytes, this.#table.bytes + bytes, 'bytes'];
    return new WafStateError(
      'capacity_exceeded',
      `the memory engine would hold ${actual} ${unit}, ${option} allows ${limit}; raise it, or let records expire sooner`,
      { details: { space, option, limit, actual } },
    );
  }

  #nextRevision(): number {
    this.#revision++;
    return this.#revision;
  }

  #assertOpen(): void {
    if (this.#closed) throw new WafStateError('closed', 'the memory engine is closed; open another');
  }
}

/** A year of a million commits a second lies between the latest beginning and 2^53-1. */
const LAST_BEGINNING = 2 ** 53 - 1 - 2 ** 45;

function firstRevision(now: bigint): number {
  const microseconds = Math.max(0, Number(now / 1000n));
  if (microseconds <= LAST_BEGINNING) return microseconds;
  throw new WafStateError(
    'invalid_option',
    `the clock is at ${microseconds} microseconds since the epoch, openMemory needs one before ${LAST_BEGINNING}, or revisions would run out`,
    { details: { option: 'clock', limit: LAST_BEGINNING, actual: microseconds } },
  );
}
