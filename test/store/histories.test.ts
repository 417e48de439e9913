import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { WafStateError } from 'wafstate';
import type { StoreValue } from 'wafstate/store';
import { ManualClock } from '../collections/manual-clock.js';
import { ENGINES, type Opened } from './engines.js';
import { StoreModel } from './model.js';

const MAX_SIZE = 4;
const KEYS = ['a', 'b', 'B', 'é', 'a:1', 'a:2'];
const MILLISECOND = 1_000_000n;

const key = fc.constantFrom(...KEYS);
const ttl = fc.option(fc.integer({ min: 1, max: 50 }), { nil: undefined });
const value: fc.Arbitrary<StoreValue> = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom('', 'text', '9223372036854775807', true, false, [1, [null]], { v: { w: 0.5 } }),
);
/** Of the last version that the key had, and of one that no key has. */
const version = fc.constantFrom('last' as const, 'other' as const);

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('set' as const), key, value, ttl }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('putAbsent' as const), key, value, ttl }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('putVersion' as const), key, value, ttl, version }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('deleteIf' as const), key, version }) },
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant('increment' as const),
      key,
      by: fc.integer({ min: -2, max: 2 }),
      ttl,
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('touch' as const), key, ttl }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('list' as const),
      prefix: fc.constantFrom('', 'a', 'a:', 'zz'),
      limit: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('cleanup' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant('wait' as const), milliseconds: fc.integer({ min: 0, max: 40 }) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A store and the model side by side. */
class Pair {
  readonly #clock: ManualClock;
  readonly #model: StoreModel;
  readonly #opened: Opened;
  /** The store's version of each of the model's. */
  readonly #versions = new Map<number, string>();

  constructor(opened: Opened, clock: ManualClock, bounded: boolean) {
    this.#opened = opened;
    this.#clock = clock;
    this.#model = new StoreModel(bounded ? MAX_SIZE : Number.POSITIVE_INFINITY);
  }

  async play(step: Step): Promise<void> {
    const now = this.#clock.now();
    const { keyValue, backend } = this.#opened;
    switch (step.op) {
      case 'set':
        await this.#put(step.key, step.value, {}, step.ttl);
        break;
      case 'putAbsent':
        await this.#put(step.key, step.value, { onlyIfAbsent: true }, step.ttl);
        break;
      case 'putVersion':
        await this.#put(step.key, step.value, { version: this.#version(step.key, step.version) }, step.ttl);
        break;
      case 'delete':
        expect(await keyValue.delete(step.key)).toBe(this.#model.delete(step.key, now));
        break;
      case 'deleteIf': {
        const version = this.#version(step.key, step.version);
        const expected = this.#model.delete(step.key, now, version);
        expect(await keyValue.deleteIf(step.key, this.#stored(version))).toBe(expected);
        break;
      }
      case 'increment': {
        const options = { by: step.by, ...(step.ttl !== undefined && { ttl: step.ttl / 1000 }) };
        const expected = this.#model.increment(step.key, BigInt(step.by), now, nanoseconds(step.ttl));
        const actual = await codeOr(keyValue.increment(step.key, options));
        if (typeof actual === 'string') expect(actual).toBe(expected);
        else {
          expect(actual.value).toBe(expected);
          this.#note(step.key, actual.version);
        }
        break;
      }
      case 'touch':
        expect(await keyValue.touch(step.key, (step.ttl ?? 0) / 1000)).toBe(
          this.#model.touch(step.key, nanoseconds(step.ttl), now),
        );
        if (this.#model.find(step.key, now) !== undefined) {
          this.#note(step.key, (await keyValue.entry(step.key)).version);
        }
        break;
      case 'list':
        await this.#list(step.prefix, step.limit);
        break;
      case 'cleanup':
        await backend.cleanup(now, { records: 3, variables: 10 });
        break;
      case 'wait':
        this.#clock.advance(step.milliseconds / 1000);
    }
    await this.compare();
  }

  /** Everything that can be read. */
  async compare(): Promise<void> {
    const now = this.#clock.now();
    const { keyValue } = this.#opened;
    for (const key of KEYS) {
      const item = this.#model.find(key, now);
      expect(await keyValue.has(key)).toBe(item !== undefined);
      expect(await keyValue.get(key)).toEqual(item?.value);
      if (item === undefined) expect(await codeOr(keyValue.entry(key))).toBe('not_found');
      else {
        expect(await keyValue.entry(key)).toEqual({
          key,
          value: item.value,
          version: this.#stored(item.version),
          expiresAt: item.deadline,
        });
      }
    }
  }

  async #put(
    key: string,
    value: StoreValue,
    condition: { onlyIfAbsent?: true; version?: number },
    ttl: number | undefined,
  ): Promise<void> {
    const duration = nanoseconds(ttl);
    const expected = this.#model.put(key, value, this.#clock.now(), {
      ...condition,
      ...(duration !== undefined && { ttl: duration }),
    });
    const { version, ...rest } = condition;
    const options = {
      ...rest,
      ...(version !== undefined && { ifVersion: this.#stored(version) }),
      ...(ttl !== undefined && { ttl: ttl / 1000 }),
    };
    const actual = await codeOr(this.#opened.keyValue.put(key, value, options));
    if (typeof actual === 'string') expect(actual).toBe(expected);
    else {
      expect(typeof expected).toBe('number');
      this.#note(key, actual.version);
    }
  }

  async #list(prefix: string, limit: number): Promise<void> {
    const expected = this.#model.keys(this.#clock.now()).filter((key) => key.startsWith(prefix));
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const page = await this.#opened.keyValue.list({ prefix, limit, after });
      seen.push(...page.items.map((item) => item.key));
      expect(page.items.length).toBeLessThanOrEqual(limit);
      expect(page.hasMore).toBe(seen.length < expected.length);
      if (!page.hasMore) break;
      after = page.cursor;
    }
    expect(seen).toEqual(expected);
  }

  #version(key: string, which: 'last' | 'other'): number {
    const item = this.#model.find(key, this.#clock.now());
    return which === 'last' && item !== undefined ? item.version : -1;
  }

  #stored(version: number): string {
    return this.#versions.get(version) ?? '1';
  }

  /** Versions are never met again. */
  #note(key: string, version: string): void {
    expect([...this.#versions.values()]).not.toContain(version);
    const item = this.#model.find(key, this.#clock.now());
    this.#versions.set(item?.version as number, version);
  }
}

function nanoseconds(milliseconds: number | undefined): bigint | undefined {
  return milliseconds === undefined ? undefined : BigInt(milliseconds) * MILLISECOND;
}

async function codeOr<T>(promise: Promise<T>): Promise<T | string> {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof WafStateError) return error.code;
    throw error;
  }
}

describe.each(ENGINES)('random histories on $name', ({ name, open }) => {
  test.each([true, false])('are those of the model (bounded: %s)', async (bounded) => {
    const runs = name === 'memory' ? 100 : 12;
    const clock = new ManualClock();
    // Once for all histories, since opening an environment takes longer than any of them.
    const opened = await open(clock, bounded ? MAX_SIZE : undefined);
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
          for (const key of KEYS) await opened.keyValue.delete(key);
          const pair = new Pair(opened, clock, bounded);
          for (const each of steps) await pair.play(each);
        }),
        { numRuns: runs },
      );
    } finally {
      await opened.close();
    }
  });
});
