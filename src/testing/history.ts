import assert from 'node:assert/strict';
import type { CommitResult, Expectation, RecordWrite } from '../contract/backend.js';
import { INT64_MAX, INT64_MIN, SECOND } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { resolveLimits } from '../contract/limits.js';
import type { Mutation } from '../contract/mutation.js';
import type { RecordName } from '../contract/space.js';
import { idOf, Model, type ModelResult } from './model.js';
import { Random } from './random.js';
import { record, type Session } from './session.js';
import * as step from './steps.js';
import type { Suite } from './suite.js';

/** Steps of one history. */
const LENGTH = 150;

/** Small enough that a history meets them. */
const LIMITS = { variables: 6, recordBytes: 90 };

const RECORDS = [record('a'), record('b'), record('a', 2), record('a', 1, ''), record('\xff\0', 16, 'app2')];
const NAMES = ['a', 'b', 'counter', 'counter', '\0', 'z\xff', 'y1', 'y2'];
const VALUES = [
  '',
  '0',
  '7',
  '-3',
  '007',
  ' 12x',
  'text',
  '\0\xff',
  String(INT64_MAX),
  String(INT64_MIN),
  'v'.repeat(40),
];
const DELTAS = [0n, 1n, 1n, 1n, 5n, -2n, INT64_MAX, INT64_MIN];
const SECONDS = [-1n, 0n, 1n, 2n, 5n, 20n];

/** Random histories of three clients on five records, step by step against the model. */
export function histories(suite: Suite): void {
  const { seed = 1, histories: count = 20 } = suite.subject;
  suite.area('random histories', () => {
    for (let index = 0; index < count; index++) {
      const own = seed + index;
      suite.rule(`of seed ${own} agree with the model`, (session) => new History(session, own).play());
    }
  });
}

class History {
  readonly #session: Session;
  readonly #seed: number;
  readonly #random: Random;
  readonly #model = new Model();
  readonly #limits = resolveLimits(LIMITS);
  /** What each client has last loaded of each record. */
  readonly #loaded = [new Map<string, number>(), new Map<string, number>(), new Map<string, number>()];
  /** The newest revision that each record has ever had. */
  readonly #newest = new Map<string, number>();
  #doing = 'nothing yet';

  constructor(session: Session, seed: number) {
    this.#session = session;
    this.#seed = seed;
    this.#random = new Random(seed);
    session.limit(LIMITS);
  }

  async play(): Promise<void> {
    for (let at = 0; at < LENGTH; at++) {
      try {
        await this.#step();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(
          `step ${at} of the history with seed ${this.#seed} departs from the model.\nStep: ${this.#doing}\n${reason}`,
          { cause: error },
        );
      }
    }
  }

  async #step(): Promise<void> {
    this.#session.now += this.#random.pick([0n, 0n, 1n, SECOND, 2n * SECOND, 10n * SECOND, -SECOND]);
    const choice = this.#random.below(20);
    if (choice < 12) await this.#commit();
    else if (choice < 17) await this.#load(this.#random.pick(RECORDS));
    else if (choice === 17 && this.#session.has('bounded_cleanup')) await this.#cleanup();
    else if (choice === 18 && this.#session.has('ordered_scan')) await this.#scan();
    else for (const name of RECORDS) await this.#load(name);
  }

  async #load(name: RecordName): Promise<void> {
    const hidden = this.#random.chance(2);
    const client = this.#random.pick(this.#loaded);
    this.#doing = `load ${idOf(name)}${hidden ? ' with hidden' : ''} at ${this.#session.now}`;
    const sync = this.#session.has('synchronous_load') && this.#random.chance(2);
    const snapshot = sync ? this.#session.loadSync(name, hidden) : await this.#session.load(name, hidden);
    const expected = this.#model.load(name, this.#session.now, hidden);
    client.set(idOf(name), snapshot.revision);
    assert.equal(snapshot.revision, expected?.revision ?? 0, 'revision');
    if (expected === undefined) {
      assert.equal(snapshot.facts, undefined, 'facts of an absent record');
      assert.equal(snapshot.variables.size, 0, 'variables of an absent record');
      return;
    }
    const { created, updated, updateCount, timeout } = expected;
    assert.deepEqual(snapshot.facts, { created, updated, updateCount, timeout });
    assert.deepEqual([...snapshot.variables], [...expected.variables]);
  }

  async #commit(): Promise<void> {
    const client = this.#random.pick(this.#loaded);
    const several = this.#session.has('multi_record_atomicity') && this.#random.chance(4);
    const count = several ? 1 + this.#random.below(RECORDS.length) : 1;
    const first = this.#random.below(RECORDS.length);
    const writes: RecordWrite[] = [];
    for (let i = 0; i < count; i++) {
      const name = RECORDS[(first + i) % RECORDS.length] as RecordName;
      writes.push({
        record: name,
        expect: this.#expectation(client.get(idOf(name)) ?? 0),
        ...(this.#random.chance(3) && { timeout: 1n + this.#random.pick(SECONDS) * SECOND + 2n * SECOND }),
        mutations: Array.from({ length: this.#random.below(5) }, () => this.#mutation()),
      });
    }
    this.#doing = `commit ${shown(writes)} at ${this.#session.now}`;
    const sync = this.#session.has('synchronous_commit') && this.#random.chance(2);
    let results: readonly CommitResult[] | string;
    try {
      results = sync ? this.#session.commitSync(writes) : await this.#session.commit(writes);
    } catch (error) {
      if (!(error instanceof WafStateError)) throw error;
      results = error.code;
    }
    const expected = this.#model.commit(writes, this.#session.now, this.#limits);
    if (typeof expected === 'string' || typeof results === 'string') {
      assert.equal(
        typeof results === 'string' ? results : 'applied',
        typeof expected === 'string' ? expected : 'applied',
      );
      return;
    }
    assert.equal(results.length, expected.length, 'results');
    for (const [index, { record: name }] of writes.entries()) {
      this.#compare(name, results[index] as CommitResult, expected[index] as ModelResult);
    }
  }

  #compare(name: RecordName, result: CommitResult, expected: ModelResult): void {
    assert.equal(result.existed, expected.existed, 'existed');
    assert.deepEqual([...result.values], [...expected.values]);
    if (expected.removed) assert.equal(result.revision, 0, 'revision of a removed record');
    else this.#renewed(name, result.revision);
  }

  /** The engine says that the record's state is new: then its revision is, too. */
  #renewed(name: RecordName, revision: number): void {
    const last = this.#newest.get(idOf(name)) ?? 0;
    assert.ok(revision > last, `revision ${revision} is not beyond ${last}`);
    this.#newest.set(idOf(name), revision);
    const stored = this.#model.records.get(idOf(name));
    if (stored !== undefined) stored.revision = revision;
  }

  async #cleanup(): Promise<void> {
    const records = 1 + this.#random.below(4);
    const variables = 1 + this.#random.below(20);
    this.#doing = `cleanup of all, by ${records} records and ${variables} variables, at ${this.#session.now}`;
    const removed = await this.#session.cleanAll(records, variables);
    const expected = this.#model.cleanup(this.#session.now);
    assert.equal(removed.records, expected.removed, 'records removed');
    for (const { name } of expected.changed) {
      this.#renewed(name, (await this.#session.load(name, true)).revision);
    }
  }

  async #scan(): Promise<void> {
    const hidden = this.#random.chance(2);
    const limit = 1 + this.#random.below(6);
    this.#doing = `scan${hidden ? ' with hidden' : ''} by ${limit} at ${this.#session.now}`;
    assert.deepEqual(
      await this.#session.scanAll({ hidden, limit }),
      this.#model.scan(this.#session.now, hidden),
    );
  }

  #expectation(loaded: number): Expectation {
    const known = loaded === 0 ? 'absent' : loaded;
    if (!this.#session.has('server_side_rebase')) return known;
    if (!this.#session.has('optimistic_revisions')) return 'any';
    return this.#random.pick([known, 'any', 'any']);
  }

  #mutation(): Mutation {
    const { now } = this.#session;
    const name = this.#random.pick(NAMES);
    const time = now + this.#random.pick(SECONDS) * SECOND;
    switch (this.#random.below(17)) {
      case 0:
      case 1:
      case 2:
        return step.set(name, this.#random.pick(VALUES));
      case 3:
      case 16:
        return step.remove(name);
      case 4:
        return step.subtract(name, this.#random.pick(DELTAS), this.#random.chance(3));
      case 5:
      case 6:
        return this.#session.has('per_variable_expiry') ? step.expire(name, time) : step.remove(name);
      case 7:
        return this.#session.has('per_variable_expiry') ? step.expireIfNone(name, time) : step.remove(name);
      case 8:
      case 9:
        return step.deprecate(
          name,
          this.#random.pick([1n, 3n, INT64_MAX]),
          this.#random.pick([1n, SECOND, 3n * SECOND]),
          time,
        );
      case 10:
        return step.timeout(this.#random.pick([undefined, SECOND, 10n * SECOND, INT64_MAX]));
      case 11:
        return this.#random.chance(2) ? step.removeRecord() : step.set(name, '1');
      default:
        return step.add(name, this.#random.pick(DELTAS), this.#random.chance(3));
    }
  }
}

function shown(writes: readonly RecordWrite[]): string {
  return JSON.stringify(writes, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
}
