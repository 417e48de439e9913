import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MemoryBackend, openMemory } from '../../../src/backend/memory/memory.js';
import type { MemoryOptions } from '../../../src/backend/memory/options.js';
import type { CommitResult, RecordWrite } from '../../../src/contract/backend.js';
import type { ByteString } from '../../../src/contract/bytes.js';
import { SECOND } from '../../../src/contract/clock.js';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.js';
import type { Mutation } from '../../../src/contract/mutation.js';

const bytes = (text: string) => text as ByteString;
const nameOf = (key: string) => ({ space: 1, applicationId: bytes(''), key: bytes(key) });
const set = (name: string, value = '1'): Mutation => ({
  type: 'set',
  name: bytes(name),
  value: bytes(value),
});
const expire = (name: string, deadline: bigint): Mutation => ({
  type: 'expire',
  name: bytes(name),
  deadline,
  onlyIfNone: false,
});

class Client {
  readonly memory: MemoryBackend;
  now = 1_000_000n * SECOND;

  constructor(options: MemoryOptions) {
    this.memory = openMemory({ cleanupInterval: 0, ...options });
  }

  write(
    key: string,
    mutations: readonly Mutation[] = [set('x')],
    timeout?: bigint,
  ): Promise<readonly CommitResult[]> {
    return this.writeAll([{ record: nameOf(key), expect: 'any', timeout, mutations }]);
  }

  writeAll(writes: readonly RecordWrite[]): Promise<readonly CommitResult[]> {
    return this.memory.commit(writes, { now: this.now, limits: DEFAULT_LIMITS });
  }

  read(key: string): void {
    this.memory.loadSync(nameOf(key), this.now, DEFAULT_LIMITS);
  }

  async keys(): Promise<string[]> {
    const { entries } = await this.memory.scan({ now: this.now, limit: 1000, hidden: true });
    return entries.map(({ record }) => record.key);
  }
}

describe('at maxRecords a new record', () => {
  it('takes the place of one that is over, before all others', async () => {
    const client = new Client({ maxRecords: 4 });
    await client.write('once');
    await client.write('timed-out', [set('x')], 10n * SECOND);
    await client.write('again');
    await client.write('expired', [set('x'), expire('x', client.now + 10n * SECOND)]);
    client.read('timed-out');
    client.now += 10n * SECOND;
    await client.write('new1');
    await client.write('new2');
    expect(await client.keys()).toEqual(['again', 'new1', 'new2', 'once']);
    expect(client.memory.stats()).toMatchObject({ records: 4, evicted: 2, evictedOver: 2 });
  });

  it('takes the place of one seen once before one seen again, by commit or by load', async () => {
    const client = new Client({ maxRecords: 4 });
    for (const key of ['read', 'written', 'once1', 'once2']) await client.write(key);
    client.read('read');
    await client.write('written');
    for (let i = 0; i < 10; i++) await client.write(`new${i}`);
    expect(await client.keys()).toEqual(['new8', 'new9', 'read', 'written']);
  });

  it('takes the place of the least recently used', async () => {
    const client = new Client({ maxRecords: 3 });
    for (const key of ['a', 'b', 'c']) {
      await client.write(key);
      client.read(key);
    }
    client.read('a');
    await client.write('b');
    await client.write('new');
    expect(await client.keys()).toEqual(['a', 'b', 'new']);
  });

  it('takes the place of one with a live long deadline only where there is no other', async () => {
    const client = new Client({ maxRecords: 3 });
    await client.write('blocked', [set('block'), expire('block', client.now + 3600n * SECOND)]);
    await client.write('counter', [set('n'), expire('n', client.now + 60n * SECOND)]);
    await client.write('plain');
    client.read('counter');
    client.read('plain');
    for (let i = 0; i < 5; i++) await client.write(`new${i}`);
    expect(await client.keys()).toContain('blocked');

    const full = new Client({ maxRecords: 2 });
    for (const key of ['a', 'b', 'c']) {
      await full.write(key, [set('block'), expire('block', full.now + 3600n * SECOND)]);
    }
    expect(await full.keys()).toEqual(['b', 'c']);
  });

  it('takes the place of one whose long deadline has come before one whose has not', async () => {
    const client = new Client({ maxRecords: 3 });
    await client.write('blocked1', [set('block'), expire('block', client.now + 7200n * SECOND)]);
    await client.write('was-blocked', [set('block'), expire('block', client.now + 3600n * SECOND), set('n')]);
    await client.write('blocked2', [set('block'), expire('block', client.now + 7200n * SECOND)]);
    client.now += 3600n * SECOND;
    await client.write('new');
    expect(await client.keys()).toEqual(['blocked1', 'blocked2', 'new']);
  });

  it('learns from cleanup whose long deadline has come, behind however many others', async () => {
    const client = new Client({ maxRecords: 21 });
    const blocks = Array.from({ length: 20 }, (_, i) => `blocked${String(i).padStart(2, '0')}`);
    for (const key of blocks) await client.write(key, [set('x'), expire('x', client.now + 7200n * SECOND)]);
    await client.write('was-blocked', [set('block'), expire('block', client.now + 3600n * SECOND), set('n')]);
    client.now += 3600n * SECOND;
    await client.memory.cleanup(client.now, { records: 100, variables: 100 });
    await client.write('new');
    expect(await client.keys()).toEqual([...blocks, 'new']);
  });

  it('takes the place of a blocked one that was made anew without its block', async () => {
    const client = new Client({ maxRecords: 2 });
    await client.write('unblocked', [set('block'), expire('block', client.now + 3600n * SECOND)]);
    await client.write('unblocked', [{ type: 'removeRecord' }, set('n')]);
    await client.write('other');
    client.read('other');
    await client.write('new');
    expect(await client.keys()).toEqual(['new', 'other']);
  });

  it('never takes the place of one in its own commit', async () => {
    const client = new Client({ maxRecords: 3 });
    await client.write('oldest');
    await client.write('b');
    await client.write('c');
    await client.writeAll(
      ['oldest', 'new1', 'new2'].map((key) => ({
        record: nameOf(key),
        expect: 'any',
        mutations: [set('x')],
      })),
    );
    expect(await client.keys()).toEqual(['new1', 'new2', 'oldest']);
  });

  it('is refused with its commit where the commit alone is too much, and nothing makes room', async () => {
    const client = new Client({ maxRecords: 3 });
    await client.write('a');
    const writes = ['b', 'c', 'd', 'e'].map(
      (key): RecordWrite => ({ record: nameOf(key), expect: 'any', mutations: [set('x')] }),
    );
    await expect(client.writeAll(writes)).rejects.toMatchObject({
      code: 'capacity_exceeded',
      details: { option: 'maxRecords', limit: 3, actual: 5 },
    });
    expect(await client.keys()).toEqual(['a']);
    expect(client.memory.stats()).toMatchObject({ evicted: 0, refused: 1 });
  });

  it('is welcome where its commit removes another', async () => {
    const client = new Client({ maxRecords: 2, onFull: 'refuse' });
    await client.write('a');
    await client.write('b');
    await client.writeAll([
      { record: nameOf('a'), expect: 'any', mutations: [{ type: 'removeRecord' }] },
      { record: nameOf('c'), expect: 'any', mutations: [set('x')] },
    ]);
    expect(await client.keys()).toEqual(['b', 'c']);
  });

  it("is refused with onFull: 'refuse', while what is there goes on, and room is what is over", async () => {
    const client = new Client({ maxRecords: 2, onFull: 'refuse' });
    await client.write('a', [set('x')], 10n * SECOND);
    await client.write('b');
    await expect(client.write('c')).rejects.toMatchObject({ code: 'capacity_exceeded' });
    await client.write('b');
    expect(client.memory.stats()).toMatchObject({ records: 2, evicted: 0, refused: 1 });
    client.now += 10n * SECOND;
    await client.write('c');
    expect(await client.keys()).toEqual(['b', 'c']);
  });
});

describe('at maxBytes', () => {
  it('a record that grows makes others go, and not itself', async () => {
    const client = new Client({ maxBytes: 2 ** 16 });
    for (let i = 0; i < 10; i++) await client.write(`k${i}`, [set('x', 'v'.repeat(5000))]);
    expect(client.memory.stats().records).toBe(10);
    await client.write('k0', [set('y', 'v'.repeat(30_000))]);
    expect((await client.keys())[0]).toBe('k0');
    expect(client.memory.stats().bytes).toBeLessThanOrEqual(2 ** 16);
    expect(client.memory.stats().evicted).toBeGreaterThan(0);
  });

  it('a record larger than all is refused, and nothing makes room for it', async () => {
    const client = new Client({ maxBytes: 2 ** 16 });
    await client.write('small');
    const large = ['a', 'b', 'c'].map((name) => set(name, 'v'.repeat(30_000)));
    await expect(client.write('large', large)).rejects.toMatchObject({
      code: 'capacity_exceeded',
      details: { option: 'maxBytes', limit: 2 ** 16 },
    });
    expect(await client.keys()).toEqual(['small']);
  });
});

describe('a flood of new names', () => {
  it('passes through without touching what is in use', async () => {
    const client = new Client({ maxRecords: 100 });
    for (let i = 0; i < 50; i++) {
      await client.write(`user${i}`);
      client.read(`user${i}`);
    }
    for (let i = 0; i < 5000; i++) await client.write(`flood${i}`);
    const users = (await client.keys()).filter((key) => key.startsWith('user'));
    expect(users).toHaveLength(50);
    expect(client.memory.stats()).toMatchObject({ records: 100, evicted: 4950, evictedOver: 0 });
  });
});

describe('the figures', () => {
  const key = fc.integer({ min: 0, max: 30 }).map((n) => `key${n}`.padEnd(n, '-'));
  const deed = fc.oneof(
    fc.record({
      do: fc.constant('write' as const),
      keys: fc.uniqueArray(key, { minLength: 1, maxLength: 4 }),
      value: fc.string({ unit: 'binary-ascii', maxLength: 3000 }),
      name: fc.constantFrom('a', 'b', 'a name beyond twelve bytes'),
      seconds: fc.constantFrom(0n, 1n, 100n, 5000n),
    }),
    fc.record({ do: fc.constant('remove' as const), key }),
    fc.record({ do: fc.constant('read' as const), key }),
    fc.record({ do: fc.constant('clean' as const), records: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ do: fc.constant('wait' as const), seconds: fc.constantFrom(1n, 60n, 4000n) }),
  );

  it('stay those of what is held, within the bounds, whatever happens', async () => {
    const property = fc.asyncProperty(
      fc.array(deed, { minLength: 20, maxLength: 150 }),
      fc.constantFrom('evict' as const, 'refuse' as const),
      async (deeds, onFull) => {
        const client = new Client({ maxRecords: 12, maxBytes: 2 ** 16, onFull });
        for (const each of deeds) {
          if (each.do === 'write') {
            const mutations = [
              set(each.name, each.value),
              expire(each.name, client.now + each.seconds * SECOND),
            ];
            const writes = each.keys.map(
              (one): RecordWrite => ({
                record: nameOf(one),
                expect: 'any',
                mutations,
                timeout: 300n * SECOND,
              }),
            );
            await client.writeAll(writes).catch((error: { code: string }) => {
              if (error.code !== 'capacity_exceeded') throw error;
            });
          } else if (each.do === 'remove') await client.write(each.key, [{ type: 'removeRecord' }]);
          else if (each.do === 'read') client.read(each.key);
          else if (each.do === 'clean') {
            await client.memory.cleanup(client.now, { records: each.records, variables: 100 });
          } else client.now += each.seconds * SECOND;

          const { entries } = await client.memory.scan({ now: client.now, limit: 1000, hidden: true });
          let held = 0;
          for (const { record, snapshot } of entries) {
            held += 500 + record.key.length;
            for (const [name, { value }] of snapshot?.variables ?? [])
              held += 150 + name.length + (value?.length ?? 0);
          }
          const { records, bytes: counted } = client.memory.stats();
          expect(records).toBe(entries.length);
          expect(counted).toBe(held);
          expect(records).toBeLessThanOrEqual(12);
          expect(counted).toBeLessThanOrEqual(2 ** 16);
        }
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });
});
