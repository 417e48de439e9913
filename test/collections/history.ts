import fc from 'fast-check';
import { expect } from 'vitest';
import type { Checkpoint, Collections, Transaction } from '../../src/collections/index.js';
import { ManualClock } from './manual-clock.js';
import * as model from './model.js';

const SECOND = 1_000_000_000n;
const COLLECTIONS = ['ip', 'global'] as const;
type Name = (typeof COLLECTIONS)[number];

const at = { who: fc.nat({ max: 2 }), where: fc.constantFrom(...COLLECTIONS) };
const name = fc.constantFrom('a', 'B', 'c');
const seconds = fc.integer({ min: 0, max: 12 });

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('add' as const),
      ...at,
      name,
      by: fc.integer({ min: -9, max: 9 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('set' as const),
      ...at,
      name,
      value: fc.constantFrom('', 'x', '7', '12x', '-3'),
    }),
  },
  fc.record({ type: fc.constant('subtract' as const), ...at, name, by: fc.integer({ min: -9, max: 9 }) }),
  fc.record({ type: fc.constant('remove' as const), ...at, name }),
  { weight: 2, arbitrary: fc.record({ type: fc.constant('expire' as const), ...at, name, seconds }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('deprecate' as const),
      ...at,
      name,
      amount: fc.integer({ min: 1, max: 4 }),
      period: fc.integer({ min: 1, max: 5 }),
    }),
  },
  fc.record({ type: fc.constant('timeout' as const), ...at, seconds }),
  fc.record({ type: fc.constant('removeRecord' as const), ...at }),
  fc.record({ type: fc.constant('tx' as const), who: at.who, name, by: fc.integer({ min: -9, max: 9 }) }),
  fc.record({ type: fc.constant('mark' as const), who: at.who }),
  fc.record({ type: fc.constant('rollback' as const), who: at.who, back: fc.nat({ max: 2 }) }),
  { weight: 3, arbitrary: fc.record({ type: fc.constant('advance' as const), seconds }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('flush' as const), who: at.who }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** One collection of one transaction, in the model. */
interface Side {
  snapshot: model.ModelRecord | undefined;
  log: model.ModelMutation[];
  touched: string[];
  /** Commits of others that this side had not seen when it was loaded. */
  seen: number;
}

interface Mark {
  real: Checkpoint;
  lengths: Record<Name, [log: number, touched: number]>;
  tx: Map<string, bigint>;
}

class Actor {
  tx!: Transaction;
  sides!: Record<Name, Side>;
  marks: Mark[] = [];
  local = new Map<string, bigint>();
}

/** Three transactions on two records, and beside each what the model makes of it. */
class World {
  readonly clock = new ManualClock();
  readonly records: Record<Name, model.ModelRecord | undefined> = { ip: undefined, global: undefined };
  readonly commits: Record<Name, number> = { ip: 0, global: 0 };
  readonly actors = [new Actor(), new Actor(), new Actor()];
  readonly collections: Collections;
  readonly key: string;

  /** `key` names two records that nobody else has touched. */
  constructor(open: (clock: ManualClock) => Collections, key: string) {
    this.collections = open(this.clock);
    this.key = key;
  }

  async begin(actor: Actor): Promise<void> {
    actor.tx = this.collections.begin();
    actor.marks = [];
    actor.local = new Map();
    for (const where of COLLECTIONS) await actor.tx.bind(where, this.key);
    actor.sides = { ip: this.side('ip'), global: this.side('global') };
  }

  side(where: Name): Side {
    const snapshot = model.copy(model.live(this.records[where], this.clock.now()));
    return { snapshot, log: [], touched: [], seen: this.commits[where] };
  }

  check(): void {
    const now = this.clock.now();
    for (const { tx, sides, local } of this.actors) {
      for (const where of COLLECTIONS) {
        const view = model.commit(sides[where].snapshot, sides[where].log, now);
        const expected = model.visible(view, now);
        expect(tx.list(where)).toEqual(expected);
        expect(tx.count(where)).toBe(expected.length);
        for (const each of ['a', 'B', 'c']) {
          const value = expected.find(([found]) => found === each.toLowerCase())?.[1];
          expect(tx.get(where, each)).toBe(value);
        }
        const seconds = view?.timeout === undefined ? undefined : String(view.timeout / SECOND);
        expect(tx.get(where, 'TIMEOUT')).toBe(seconds);
      }
      expect(new Map(tx.list('tx').map(([each, value]) => [each, BigInt(value)]))).toEqual(local);
    }
  }

  async flush(actor: Actor): Promise<void> {
    const now = this.clock.now();
    const { tx, sides } = actor;
    const dirty = COLLECTIONS.filter((where) => sides[where].log.length > 0);
    const alone = dirty.every((where) => sides[where].seen === this.commits[where]);
    const views = dirty.map((where) => tx.list(where));
    const flushed = await tx.processLogging();
    expect(Object.keys(flushed)).toEqual(dirty);
    for (const [index, where] of dirty.entries()) {
      const { log, touched } = sides[where];
      const record = model.commit(this.records[where], log, now);
      this.records[where] = record;
      this.commits[where]++;
      const left = new Map(model.visible(record, now));
      const expected = [...new Set(touched)].map((each) => [each, left.get(each)] as const);
      expect([...(flushed[where]?.values ?? [])]).toEqual(expected);
      expect(flushed[where]?.revision === 0).toBe(record === undefined);
      // What a transaction read of its own writes is what its commit leaves.
      if (alone) expect(views[index]).toEqual([...left]);
    }
    // Where others wrote in between, a snapshot is a mixture on purpose; the model begins anew there.
    if (!alone) await this.begin(actor);
    else for (const where of dirty) actor.sides[where] = this.side(where);
    if (dirty.length > 0) actor.marks = [];
  }

  async take(step: Step): Promise<void> {
    if (step.type === 'advance') {
      this.clock.advance(step.seconds);
      return;
    }
    const actor = this.actors[step.who] as Actor;
    const { tx } = actor;
    if (step.type === 'flush') return this.flush(actor);
    if (step.type === 'mark') {
      const length = (where: Name): [number, number] => [
        actor.sides[where].log.length,
        actor.sides[where].touched.length,
      ];
      const lengths = { ip: length('ip'), global: length('global') };
      actor.marks.push({ real: tx.checkpoint(), lengths, tx: new Map(actor.local) });
      return;
    }
    if (step.type === 'rollback') {
      const mark = actor.marks.at(-1 - step.back);
      if (mark === undefined) return;
      actor.marks.length = actor.marks.indexOf(mark) + 1;
      tx.rollback(mark.real);
      for (const where of COLLECTIONS) {
        const [log, touched] = mark.lengths[where];
        actor.sides[where].log.length = log;
        actor.sides[where].touched.length = touched;
      }
      actor.local = new Map(mark.tx);
      return;
    }
    if (step.type === 'tx') {
      tx.add('tx', step.name, step.by);
      const lower = step.name.toLowerCase();
      actor.local.set(lower, (actor.local.get(lower) ?? 0n) + BigInt(step.by));
      return;
    }
    const side = actor.sides[step.where];
    side.log.push(this.mutate(tx, step));
    if ('name' in step) side.touched.push(step.name.toLowerCase());
  }

  mutate(
    tx: Transaction,
    step: Exclude<Step, { type: 'advance' | 'flush' | 'mark' | 'rollback' | 'tx' }>,
  ): model.ModelMutation {
    const now = this.clock.now();
    const { where } = step;
    switch (step.type) {
      case 'add':
        tx.add(where, step.name, step.by);
        return model.add(step.name.toLowerCase(), BigInt(step.by));
      case 'subtract':
        tx.subtract(where, step.name, BigInt(step.by));
        return model.add(step.name.toLowerCase(), -BigInt(step.by));
      case 'set':
        tx.set(where, step.name, step.value);
        return model.set(step.name.toLowerCase(), step.value);
      case 'remove':
        tx.remove(where, step.name);
        return model.remove(step.name.toLowerCase());
      case 'expire':
        tx.expire(where, step.name, step.seconds);
        return model.expire(step.name.toLowerCase(), now + BigInt(step.seconds) * SECOND);
      case 'deprecate':
        tx.deprecate(where, step.name, step.amount, step.period);
        return model.deprecate(
          step.name.toLowerCase(),
          BigInt(step.amount),
          BigInt(step.period) * SECOND,
          now,
        );
      case 'timeout':
        tx.set(where, 'TIMEOUT', step.seconds);
        return model.timeout(step.seconds === 0 ? undefined : BigInt(step.seconds) * SECOND);
      case 'removeRecord':
        tx.removeRecord(where);
        return model.removeRecord;
    }
  }
}

/** Random histories of three interleaved transactions are those of the model, after every step. */
export async function checkHistories(
  open: (clock: ManualClock) => Collections,
  numRuns: number,
): Promise<void> {
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const world = new World(open, `client ${runs++}`);
      for (const actor of world.actors) await world.begin(actor);
      for (const each of steps) {
        await world.take(each);
        world.check();
      }
    }),
    { numRuns },
  );
}
