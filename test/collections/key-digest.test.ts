import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import { Collections, type CollectionsOptions } from '../../src/collections/index.js';
import type { Backend, RecordWrite } from '../../src/contract/backend.js';
import { toBytes } from '../../src/contract/bytes.js';
import { systemClock } from '../../src/contract/clock.js';
import { DEFAULT_LIMITS } from '../../src/contract/limits.js';

const SECRET = Buffer.alloc(32, 'operator');

function collections(backend: Backend, options: Partial<CollectionsOptions> = {}): Collections {
  return new Collections({ backend, keyDigest: { secret: SECRET }, ...options });
}

/** Every name by which the engine was asked for a record. */
function watched(): { backend: Backend; names: string[] } {
  const memory = openMemory({ cleanupInterval: 0 });
  const names: string[] = [];
  const note = ({ space, key }: { space: number; key: string }) => names.push(`${space} ${key}`);
  const backend: Backend = Object.assign(Object.create(memory), {
    abiVersion: memory.abiVersion,
    name: 'watched',
    features: memory.features,
    load(...args: Parameters<Backend['load']>) {
      note(args[0]);
      return memory.load(...args);
    },
    loadSync(...args: Parameters<Backend['load']>) {
      note(args[0]);
      return memory.loadSync(...args);
    },
    commit(writes: readonly RecordWrite[], options: Parameters<Backend['commit']>[1]) {
      for (const { record } of writes) note(record);
      return memory.commit(writes, options);
    },
    scan: (...args: Parameters<Backend['scan']>) => memory.scan(...args),
    close: () => memory.close(),
  });
  return { backend, names };
}

const stored = (space: number, application: string, key: string, secret: Uint8Array = SECRET): string =>
  createHmac('sha256', secret)
    .update(Buffer.concat([Buffer.from([space, application.length]), Buffer.from(application + key)]))
    .digest()
    .toString('latin1');

describe('keyDigest', () => {
  it('names records of session and user by HMAC-SHA-256, the others as they are', async () => {
    const { backend, names } = watched();
    const tx = collections(backend, { applicationId: 'shop' }).begin();
    await tx.setSession('8f14e45f');
    tx.setUserSync('alice');
    await tx.bind('ip', '203.0.113.9');
    expect(names).toEqual([
      `2 ${stored(2, 'shop', '8f14e45f')}`,
      `3 ${stored(3, 'shop', 'alice')}`,
      '1 203.0.113.9',
    ]);
  });

  it('shows the key itself within the transaction', async () => {
    const tx = collections(openMemory({ cleanupInterval: 0 })).begin();
    await tx.setUser('Zoë');
    expect(tx.get('user', 'KEY')).toBe('Zoë');
    expect(tx.facts('user').key).toBe('Zoë');
    expect(tx.userId).toBe('Zoë');
  });

  it('binds the same key again, and refuses another', async () => {
    const tx = collections(openMemory({ cleanupInterval: 0 })).begin();
    await tx.bind('user', 'alice');
    await tx.bind('user', Buffer.from('alice'));
    await expect(tx.bind('user', 'bob')).rejects.toMatchObject({ code: 'already_bound' });
  });

  it('finds the same record again, in transactions and by increment, with the same secret only', async () => {
    const backend = openMemory({ cleanupInterval: 0 });
    const first = collections(backend).begin();
    await first.bind('user', 'alice');
    first.add('user', 'n', 1);
    await first.flush();
    expect(await collections(backend).increment('user', 'alice', 'n')).toMatchObject({ value: 2n });
    const others = collections(backend, { keyDigest: { secret: Buffer.alloc(32, 'another') } });
    expect(await others.increment('user', 'alice', 'n')).toMatchObject({ value: 1n });
    const plain = collections(backend, { keyDigest: undefined });
    expect(await plain.increment('user', 'alice', 'n')).toMatchObject({ value: 1n });
  });

  it('tells applications and collections apart', async () => {
    const { backend, names } = watched();
    const all = { secret: SECRET, collections: ['ip', 'session', 'user', 'global', 'resource'] } as const;
    for (const applicationId of ['', 'a', 'ab']) {
      const of = collections(backend, { applicationId, keyDigest: all });
      for (const name of all.collections) await of.increment(name, 'bc', 'n');
      // Were the lengths not in the digest, 'a' and 'bc' would be as 'ab' and 'c'.
      await of.increment('user', 'c', 'n');
    }
    expect(new Set(names.map((name) => name.slice(2))).size).toBe(names.length);
  });

  it('never hands a key to the engine', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 1024 }), async (key) => {
        const { backend, names } = watched();
        const tx = collections(backend).begin();
        await tx.bind('session', key);
        tx.set('session', 'n', 1);
        await tx.flush();
        for (const name of names) {
          expect(name).toHaveLength(2 + 32);
          if (key.length > 4) expect(name).not.toContain(Buffer.from(key).toString('latin1'));
        }
        const { entries } = await backend.scan({ now: systemClock.now(), limit: 10 });
        expect(entries.map(({ record }) => toBytes(record.key).length)).toEqual([32]);
      }),
    );
  });

  it('goes by text as by its UTF-8 bytes', async () => {
    const { backend, names } = watched();
    const text = '0123456789abcdeé';
    for (const secret of [text, Buffer.from(text)]) {
      await collections(backend, { keyDigest: { secret } }).increment('user', 'alice', 'n');
    }
    expect(names).toEqual(Array.from({ length: 2 }, () => `3 ${stored(3, '', 'alice', Buffer.from(text))}`));
  });

  it('still refuses a key that is empty or too long', async () => {
    const tx = collections(openMemory({ cleanupInterval: 0 })).begin();
    await expect(tx.bind('user', '')).rejects.toMatchObject({ code: 'invalid_key' });
    await expect(tx.bind('user', 'x'.repeat(1025))).rejects.toMatchObject({ code: 'invalid_key' });
  });

  it.each([
    ['a short secret', { secret: 'tooshort-secret' }, 'keyDigest.secret', /16 to 1024 bytes, got 15/],
    ['a long secret', { secret: Buffer.alloc(1025) }, 'keyDigest.secret', /got 1025/],
    ['text that is none', { secret: `${'x'.repeat(20)}\ud800` }, 'keyDigest.secret', /well-formed text/],
    ['no secret', {}, 'keyDigest.secret', /must be a Uint8Array/],
    ['an unknown option', { secret: SECRET, colections: [] }, 'colections', /did you mean 'collections'/],
    ['no collection', { secret: SECRET, collections: [] }, 'keyDigest.collections', /at least one/],
    ['an unknown collection', { secret: SECRET, collections: ['users'] }, 'collection', /no such collection/],
    ['no object', 'secret', 'keyDigest', /takes an object/],
  ])('refuses %s', (_, keyDigest, option, message) => {
    const backend = openMemory({ cleanupInterval: 0 });
    expect(() => new Collections({ backend, keyDigest: keyDigest as never })).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        message: expect.stringMatching(message),
        details: expect.objectContaining({ option }),
      }),
    );
  });

  it('refuses a limit on keys that a digest does not keep', () => {
    const backend = openMemory({ cleanupInterval: 0 });
    expect(() => collections(backend, { limits: { keyBytes: 31 } })).toThrow(/has 32 bytes, .* allows 31/);
    expect(() => collections(backend, { limits: { ...DEFAULT_LIMITS, keyBytes: 32 } })).not.toThrow();
  });
});
