import assert from 'node:assert/strict';
import type {
  Backend,
  CommitResult,
  Counted,
  CounterWrite,
  Expectation,
  RecordWrite,
  ScanPage,
  ScanQuery,
} from '../contract/backend.js';
import { SECOND } from '../contract/clock.js';
import { type ErrorCode, type ErrorKind, WafStateError } from '../contract/errors.js';
import type { Feature } from '../contract/features.js';
import { DEFAULT_LIMITS, type Limits, resolveLimits } from '../contract/limits.js';
import type { Mutation } from '../contract/mutation.js';
import type { Snapshot } from '../contract/snapshot.js';
import { COLLECTION_SPACES, type RecordName } from '../contract/space.js';
import { bytes } from './steps.js';

/** In 2096: later than any system clock that runs this, so that no engine's own sweep takes part in a test. */
export const START = 4_000_000_000n * SECOND;

/** A record's name; by default of the collection ip and the application `app`. */
export function record(key: string, space: number = COLLECTION_SPACES.ip, applicationId = 'app'): RecordName {
  return { space, applicationId: bytes(applicationId), key: bytes(key) };
}

export interface WriteOptions {
  readonly expect?: Expectation;
  readonly timeout?: bigint;
  readonly deadline?: bigint;
}

/** One open engine and the time of the test, which stands still unless it is moved. */
export class Session {
  readonly backend: Backend;
  now = START;
  #limits: Limits = DEFAULT_LIMITS;

  constructor(backend: Backend) {
    this.backend = backend;
  }

  has(feature: Feature): boolean {
    return this.backend.features.has(feature);
  }

  /** Moves time on. */
  wait(seconds: number): void {
    this.now += BigInt(Math.round(seconds * 1000)) * 1_000_000n;
  }

  /** The time so many seconds from now. */
  in(seconds: number): bigint {
    return this.now + BigInt(Math.round(seconds * 1000)) * 1_000_000n;
  }

  limit(limits: Partial<Limits>): void {
    this.#limits = resolveLimits(limits);
  }

  async load(name: RecordName | string, hidden = false): Promise<Snapshot> {
    return plain(await this.backend.load(named(name), this.now, this.#limits, hidden));
  }

  /** What the engine gave, as it is: it must stay so. */
  async loadToKeep(name: RecordName | string): Promise<Snapshot> {
    return this.backend.load(named(name), this.now, this.#limits);
  }

  loadSync(name: RecordName | string, hidden = false): Snapshot {
    assert.ok(this.backend.loadSync, 'synchronous_load is advertised, so loadSync must be there');
    return plain(this.backend.loadSync(named(name), this.now, this.#limits, hidden));
  }

  /** The visible values, by name, in the order the engine gives them. */
  async values(name: RecordName | string, hidden = false): Promise<Record<string, string | undefined>> {
    const { variables } = await this.load(name, hidden);
    return Object.fromEntries([...variables].map(([variable, { value }]) => [variable, value]));
  }

  async value(name: RecordName | string, variable: string): Promise<string | undefined> {
    return (await this.load(name)).variables.get(bytes(variable))?.value;
  }

  async revision(name: RecordName | string): Promise<number> {
    return (await this.load(name)).revision;
  }

  commit(writes: readonly RecordWrite[], deadline?: bigint): Promise<readonly CommitResult[]> {
    return this.backend.commit(writes, { now: this.now, limits: this.#limits, deadline });
  }

  /** The same by `commitSync`. */
  commitSync(writes: readonly RecordWrite[], deadline?: bigint): readonly CommitResult[] {
    assert.ok(this.backend.commitSync, 'synchronous_commit is advertised, so commitSync must be there');
    return this.backend.commitSync(writes, { now: this.now, limits: this.#limits, deadline });
  }

  /** One counter by `countSync`, which REQUIRES that the engine has it. */
  countSync(count: CounterWrite): Counted | undefined {
    return (this.backend as Required<Backend>).countSync(count, { now: this.now, limits: this.#limits });
  }

  /** One record's batch, whatever the record is now; an engine without 'any' gets the revision that was just read. */
  async write(
    name: RecordName | string,
    mutations: readonly Mutation[],
    options: WriteOptions = {},
  ): Promise<CommitResult> {
    const expect = options.expect ?? (await this.#current(named(name)));
    const { timeout, deadline } = options;
    const results = await this.commit([{ record: named(name), expect, timeout, mutations }], deadline);
    assert.equal(results.length, 1, 'a commit of one write has one result');
    return results[0] as CommitResult;
  }

  scan(query: Partial<ScanQuery> = {}): Promise<ScanPage> {
    return this.backend.scan({ now: this.now, limit: 1000, ...query });
  }

  /** Everything a scan with this query lists, page after page. */
  async scanAll(query: Partial<ScanQuery> = {}): Promise<RecordName[]> {
    const found: RecordName[] = [];
    let after = query.after;
    for (;;) {
      const page = await this.scan({ ...query, after });
      found.push(...page.entries.map((entry) => entry.record));
      if (page.next === undefined) return found;
      after = page.next;
    }
  }

  /** Cleans up until every record has been looked at once: to the end of a pass under way, then one whole pass. */
  async cleanAll(records = 1000, variables = 1_000_000): Promise<{ records: number; variables: number }> {
    const removed = { records: 0, variables: 0 };
    for (let passes = 0, calls = 0; passes < 2; calls++) {
      assert.ok(calls < 10_000, 'cleanup never reports the end of a pass');
      const result = await this.backend.cleanup(this.now, { records, variables });
      removed.records += result.recordsRemoved;
      removed.variables += result.variablesRemoved;
      if (result.wrapped) passes++;
    }
    return removed;
  }

  async #current(name: RecordName): Promise<Expectation> {
    if (this.has('server_side_rebase')) return 'any';
    // Timed-out records match both their old revision and 'absent'.
    const { revision } = await this.load(name);
    return revision === 0 ? 'absent' : revision;
  }
}

/**
 * A snapshot as a plain object with a plain map: engines may give one that reads from their own bytes when it is asked, and a
 * deep comparison would see none of it.
 */
export function plain({ revision, facts, variables }: Snapshot): Snapshot {
  return {
    revision,
    facts: facts && {
      created: facts.created,
      updated: facts.updated,
      updateCount: facts.updateCount,
      timeout: facts.timeout,
    },
    variables: new Map(variables),
  };
}

function named(name: RecordName | string): RecordName {
  return typeof name === 'string' ? record(name) : name;
}

/** Requires a `WafStateError` with this code, and gives it back for a closer look. */
export async function rejects(attempt: () => Promise<unknown>, code: ErrorCode): Promise<WafStateError> {
  const error = await refusal(attempt);
  assert.equal(error.code, code, `expected ${code}, got ${error.code}: ${error.message}`);
  return error;
}

/** The same for rules that fix only the kind of the error. */
export async function rejectsKind(attempt: () => Promise<unknown>, kind: ErrorKind): Promise<WafStateError> {
  const error = await refusal(attempt);
  assert.equal(error.kind, kind, `expected an error of kind ${kind}, got ${error.code}: ${error.message}`);
  return error;
}

async function refusal(attempt: () => Promise<unknown>): Promise<WafStateError> {
  try {
    await attempt();
  } catch (error) {
    assert.ok(error instanceof WafStateError, `every error is a WafStateError, got ${String(error)}`);
    return error;
  }
  assert.fail('expected an error, but the call succeeded');
}
