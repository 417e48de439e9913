import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type LmdbBackend, type Mutation, openLmdb, WafStateError } from 'wafstate';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

const NOW = 4_000_000_000_000_000_000n;
const MAP_SIZE = 2 ** 21;

describe.each(IMPLEMENTATIONS)('a full map, %s', (implementation) => {
  const directory = scratchDirectory();

  async function commit(
    backend: LmdbBackend,
    key: string,
    mutations: readonly object[],
  ): Promise<WafStateError | undefined> {
    const record = { space: 1, applicationId: '', key } as never;
    try {
      await backend.commit([{ record, expect: 'any', mutations: mutations as readonly Mutation[] }], {
        now: NOW,
        limits: DEFAULT_LIMITS,
      });
      return undefined;
    } catch (error) {
      if (error instanceof WafStateError) return error;
      throw error;
    }
  }

  const set = (value: string): object => ({ type: 'set', name: 'v', value });
  const count = { type: 'add', name: 'n', delta: 1n };

  it.each([
    ['small records', 100],
    ['large records', 9000],
  ])('of %s refuses what grows, and only that', async (name, size) => {
    const path = join(directory, name);
    const backend = await openLmdb({
      path,
      mapSize: MAP_SIZE,
      implementation,
      durability: 'relaxed',
      cleanupInterval: 0,
    });
    await commit(backend, 'counter', [{ ...count, delta: 1_000_000n }]);
    let stored = 0;
    let error: WafStateError | undefined;
    for (let before = -1; before < stored; ) {
      before = stored;
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, (_, i) => commit(backend, `k${stored + i}`, [set('x'.repeat(size))])),
      );
      // What is refused is the end of a round, so the keys stay without gaps.
      stored += outcomes.filter((outcome) => outcome === undefined).length;
      error = outcomes.at(-1);
    }
    expect(error).toMatchObject({
      code: 'capacity_exceeded',
      details: { option: 'mapSize', limit: MAP_SIZE },
    });
    const { usedPages, pageSize } = backend.stats();
    expect(usedPages * pageSize).toBeGreaterThan(MAP_SIZE * 0.7);
    const reserved = implementation === 'typescript' ? 64 : 49;
    expect(error?.message).toMatch(
      new RegExp(
        `the map of 2097152 bytes is full: \\d+ of its ${MAP_SIZE / pageSize} pages are in use, ${reserved} are kept for removals and cleanup`,
      ),
    );
    expect(error?.message).toMatch(/open with a larger mapSize, or remove records: a page comes free with/);
    const told = Number(/: (\d+) of its/.exec(error?.message ?? '')?.[1]);
    expect(Math.abs(told - usedPages)).toBeLessThan(8);
    expect(told).toBeLessThanOrEqual(MAP_SIZE / pageSize - reserved + 8);

    const grown = ['a', 'b', 'c', 'd'].map((name) => ({ type: 'set', name, value: 'x'.repeat(30_000) }));
    for (let round = 0; round < 200; round++) {
      const [refused, counted] = await Promise.all([
        commit(backend, `new ${round}`, grown),
        commit(backend, 'counter', [count]),
      ]);
      expect(refused?.code).toBe('capacity_exceeded');
      expect(counted).toBeUndefined();
    }
    expect(statSync(join(path, 'data.mdb')).size).toBeLessThanOrEqual(MAP_SIZE);

    for (let key = 0; key < stored; key++)
      expect(await commit(backend, `k${key}`, [{ type: 'removeRecord' }])).toBeUndefined();
    expect(backend.stats().records).toBe(1);
    for (let key = 0; key < stored / 4; key++)
      expect(await commit(backend, `again ${key}`, [set('x'.repeat(size))])).toBeUndefined();
    expect(statSync(join(path, 'data.mdb')).size).toBeLessThanOrEqual(MAP_SIZE);
    await backend.close();

    const larger = await openLmdb({ path, mapSize: 2 * MAP_SIZE, implementation, durability: 'relaxed' });
    expect(await commit(larger, 'large', [set('x'.repeat(30_000))])).toBeUndefined();
    await larger.close();
  });
});
