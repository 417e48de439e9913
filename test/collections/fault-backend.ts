import {
  ABI_VERSION,
  type Backend,
  type CleanupResult,
  type CommitOptions,
  type CommitResult,
  type CommittedValue,
  conflict,
  type RecordWrite,
  type ScanPage,
} from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { WafStateError } from '../../src/contract/errors.js';
import type { Feature } from '../../src/contract/features.js';
import type { Limits } from '../../src/contract/limits.js';
import { ABSENT, type RecordFacts, type Snapshot, type Variable } from '../../src/contract/snapshot.js';
import type { RecordName } from '../../src/contract/space.js';
import { applyToVariable, isVisible, OVERFLOW } from '../../src/contract/variable.js';

interface Stored {
  revision: number;
  facts: RecordFacts;
  variables: Map<ByteString, Variable>;
}

/** One thing that goes wrong, once. */
export interface Fault {
  readonly at: 'load' | 'commit';
  /** Only where this space is concerned. */
  readonly space?: number;
  readonly error?: unknown;
  /** The commit takes place before it is reported as failed. */
  readonly applied?: boolean;
  /** What happens before anything else, such as another writer. */
  readonly before?: () => void | Promise<void>;
}

export const REBASING: readonly Feature[] = [
  'optimistic_revisions',
  'server_side_rebase',
  'multi_record_atomicity',
  'synchronous_load',
];
export const OPTIMISTIC: readonly Feature[] = ['optimistic_revisions'];

/**
 * The obvious engine: a Map and the rules of one variable. Its features are the test's choice, and it fails as the test
 * says. No limits, no cleanup, no scan.
 */
export class FaultBackend implements Backend {
  readonly abiVersion = ABI_VERSION;
  readonly name = 'fault';
  readonly features: ReadonlySet<Feature>;
  readonly faults: Fault[] = [];
  readonly commits: { writes: readonly RecordWrite[]; options: CommitOptions }[] = [];
  loads = 0;
  readonly loadSync?: (record: RecordName, now: bigint, limits: Limits) => Snapshot;
  readonly #records = new Map<string, Stored>();
  #revision = 0;

  constructor(features: readonly Feature[] = REBASING) {
    this.features = new Set(features);
    if (this.features.has('synchronous_load')) {
      this.loadSync = (record, now) => this.#loadNow(record, now, this.#take('load', [record.space]));
    }
  }

  async load(record: RecordName, now: bigint): Promise<Snapshot> {
    const fault = this.#take('load', [record.space]);
    await fault?.before?.();
    return this.#loadNow(record, now, fault);
  }

  #loadNow(record: RecordName, now: bigint, fault: Fault | undefined): Snapshot {
    this.loads++;
    if (fault?.error !== undefined) throw fault.error;
    const stored = this.#live(record, now);
    if (stored === undefined) return ABSENT;
    const visible = [...stored.variables].filter(([, variable]) => isVisible(variable, now));
    return { revision: stored.revision, facts: stored.facts, variables: new Map(visible.sort()) };
  }

  async commit(writes: readonly RecordWrite[], options: CommitOptions): Promise<readonly CommitResult[]> {
    this.commits.push({ writes, options });
    const fault = this.#take(
      'commit',
      writes.map(({ record }) => record.space),
    );
    await fault?.before?.();
    if (fault?.error !== undefined && fault.applied !== true) throw fault.error;
    const drafts = writes.map((write) => this.#draft(write, options.now));
    for (const { name, stored } of drafts) {
      if (stored === undefined) this.#records.delete(name);
      else this.#records.set(name, stored);
    }
    if (fault?.error !== undefined) throw fault.error;
    return drafts.map(({ result }) => result);
  }

  #draft(
    write: RecordWrite,
    now: bigint,
  ): { name: string; stored: Stored | undefined; result: CommitResult } {
    const name = nameOf(write.record);
    const actual = this.#records.get(name);
    const live = this.#live(write.record, now);
    const { expect } = write;
    const holds =
      expect === 'any' || (expect === 'absent' ? live === undefined : actual?.revision === expect);
    if (!holds) throw conflict(write.record, expect, live?.revision ?? 0);
    const fresh = { created: now, updated: now, updateCount: 0, timeout: write.timeout };
    let facts: RecordFacts | undefined = live?.facts;
    let variables = new Map(live?.variables);
    const touched = new Set<ByteString>();
    for (const mutation of write.mutations) {
      if (mutation.type === 'removeRecord') {
        facts = undefined;
        variables = new Map();
        continue;
      }
      facts ??= fresh;
      if (mutation.type === 'timeout') {
        facts = { ...facts, timeout: mutation.duration };
        continue;
      }
      touched.add(mutation.name);
      const next = applyToVariable(variables.get(mutation.name), mutation, now);
      if (next === OVERFLOW) throw new WafStateError('capacity_exceeded', 'overflow');
      if (next === undefined) variables.delete(mutation.name);
      else variables.set(mutation.name, next);
    }
    const values = new Map<ByteString, CommittedValue | undefined>();
    for (const each of touched) {
      const variable = variables.get(each);
      values.set(
        each,
        variable?.value !== undefined && isVisible(variable, now)
          ? { value: variable.value, deadline: variable.deadline }
          : undefined,
      );
    }
    const existed = live !== undefined;
    if (facts === undefined) return { name, stored: undefined, result: { revision: 0, existed, values } };
    const revision = ++this.#revision;
    facts = {
      ...facts,
      updated: facts.updated > now ? facts.updated : now,
      updateCount: facts.updateCount + 1,
    };
    return { name, stored: { revision, facts, variables }, result: { revision, existed, values } };
  }

  #live(record: RecordName, now: bigint): Stored | undefined {
    const stored = this.#records.get(nameOf(record));
    if (stored?.facts.timeout === undefined) return stored;
    return stored.facts.updated + stored.facts.timeout <= now ? undefined : stored;
  }

  /** The first fault for this call, which is over then. */
  #take(at: Fault['at'], spaces: readonly number[]): Fault | undefined {
    const index = this.faults.findIndex(
      (fault) => fault.at === at && (fault.space === undefined || spaces.includes(fault.space)),
    );
    return index === -1 ? undefined : this.faults.splice(index, 1)[0];
  }

  async cleanup(): Promise<CleanupResult> {
    throw new WafStateError('unsupported', 'the fault backend does not clean up');
  }

  async scan(): Promise<ScanPage> {
    throw new WafStateError('unsupported', 'the fault backend does not scan');
  }

  async close(): Promise<void> {
    this.#records.clear();
  }
}

function nameOf({ space, applicationId, key }: RecordName): string {
  return JSON.stringify([space, applicationId, key]);
}
