import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type Backend,
  Collections,
  DEFAULT_LIMITS,
  type Limits,
  nativeStatus,
  openLmdb,
  openMemory,
  openSharedMemory,
  WafStateError,
} from 'wafstate';
import { wafstate } from '../cli/program.js';

/**
 * An error may be logged, so nothing that a client chose may stand in one: not in the message, not in the stack, not in the details, not in
 * a cause. Every key, name and value here holds a marker, and every error that comes of it is searched.
 */
const MARKER = 'zq7marker';

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-values-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const native = nativeStatus().loaded;
const SMALL: Partial<Limits> = {
  keyBytes: 40,
  nameBytes: 40,
  valueBytes: 60,
  variables: 2,
  recordBytes: 100,
  mutations: 6,
};

const ENGINES: readonly (readonly [string, () => Backend | Promise<Backend>])[] = [
  ['memory', () => openMemory({ maxBytes: 65_536, onFull: 'refuse', cleanupInterval: 0 })],
  [
    'LMDB in TypeScript',
    () =>
      openLmdb({ path: join(scratch, 'typescript'), implementation: 'typescript', durability: 'relaxed' }),
  ],
  ...(native
    ? ([
        [
          'LMDB in C++',
          () => openLmdb({ path: join(scratch, 'native'), implementation: 'native', durability: 'relaxed' }),
        ],
        [
          'shared memory',
          () => openSharedMemory({ name: 'values', maxBytes: 2 ** 20, onFull: 'refuse', cleanupInterval: 0 }),
        ],
      ] as const)
    : []),
];

/** Whatever of an error can come into a log. */
function logged(error: unknown): string {
  return `${inspect(error, { depth: 10, showHidden: true, getters: true })} ${String((error as Error).stack)}`;
}

const marked = fc
  .tuple(fc.string({ maxLength: 30 }), fc.constantFrom('', '\ud800', '\0', 'x'.repeat(40), 'é'.repeat(20)))
  .map(([text, tail]) => MARKER + text + tail);
const number = fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.constantFrom(1, 0, -1, 0.5, Number.NaN));

/** One call of a transaction, with whatever a client may have put into a request. */
const step = fc.oneof(
  fc.record({ call: fc.constant('bind' as const), key: marked }),
  fc.record({ call: fc.constant('set' as const), name: marked, value: marked }),
  fc.record({ call: fc.constant('add' as const), name: marked, value: fc.oneof(number, marked) }),
  fc.record({ call: fc.constant('expire' as const), name: marked, value: fc.oneof(number, marked) }),
  fc.record({
    call: fc.constant('fact' as const),
    name: fc.constantFrom('TIMEOUT', 'KEY', 'IS_NEW'),
    value: marked,
  }),
  fc.record({
    call: fc.constant('increment' as const),
    key: marked,
    name: marked,
    value: fc.oneof(number, marked),
  }),
  fc.record({ call: fc.constant('conflict' as const), key: marked }),
  fc.record({ call: fc.constant('flush' as const) }),
);

describe.each(ENGINES)('no error of %s', (_, open) => {
  it('has what a client chose in it', async () => {
    const backend = await open();
    const errors: string[] = [];
    const codes = new Set<string>();
    const attempt = async (action: () => unknown): Promise<void> => {
      try {
        await action();
      } catch (error) {
        expect(error).toBeInstanceOf(WafStateError);
        codes.add((error as WafStateError).code);
        errors.push(logged(error));
      }
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        async (steps, digest) => {
          const collections = new Collections({
            backend,
            limits: SMALL,
            ...(digest && { keyDigest: { secret: `${MARKER}0123456789` } }),
          });
          const tx = collections.begin();
          await attempt(() => tx.bind('user', `${MARKER}user`));
          for (const each of steps) {
            await attempt(async () => {
              switch (each.call) {
                case 'bind':
                  return tx.bind('session', each.key);
                case 'set':
                  return tx.set('user', each.name, each.value);
                case 'add':
                  return tx.add('user', each.name, each.value as bigint);
                case 'expire':
                  return tx.expire('user', each.name, each.value as bigint);
                case 'fact':
                  return tx.set('user', each.name, each.value);
                case 'increment':
                  return collections.increment('user', each.key, each.name, { by: each.value as bigint });
                case 'conflict': {
                  const key = Buffer.from(each.key.slice(0, 40)).toString('latin1');
                  return backend.commit(
                    [
                      {
                        record: { space: 3, applicationId: '', key } as never,
                        expect: 1,
                        mutations: [{ type: 'set', name: MARKER, value: key } as never],
                      },
                    ],
                    { now: 1n, limits: DEFAULT_LIMITS },
                  );
                }
                case 'flush':
                  return tx.flush({ onConflict: 'reject' });
              }
            });
          }
          await attempt(() => tx.flush());
          await attempt(() => {
            if (tx.lastPersistentFailure() !== undefined) throw tx.lastPersistentFailure();
          });
        },
      ),
      { numRuns: 150 },
    );
    await backend.close();
    await attempt(() =>
      backend.load({ space: 3, applicationId: '', key: MARKER } as never, 1n, DEFAULT_LIMITS),
    );
    expect([...codes].sort()).toEqual(
      expect.arrayContaining([
        'already_bound',
        'capacity_exceeded',
        'closed',
        'conflict',
        'invalid_key',
        'invalid_mutation',
      ]),
    );
    for (const error of errors) expect(error).not.toMatch(/zq7marker/i);
  });
});

it('no error of the command line has a key or variable in it', async () => {
  const path = join(scratch, 'cli');
  const backend = await openLmdb({ path });
  await new Collections({ backend }).increment('user', MARKER, MARKER);
  await backend.close();
  const secret = join(scratch, 'no-such-secret');
  for (const argv of [
    ['get', 'user', MARKER, '--at', 'never'],
    ['get', 'user', MARKER, '--key-secret-file', secret],
    ['get', 'user', MARKER, 'extra'],
    ['get', 'nobody', MARKER],
    ['get', 'user', `${MARKER}${'x'.repeat(2000)}`],
    ['get', 'user', ''],
    ['delete', 'user', MARKER, `${MARKER}${'x'.repeat(2000)}`],
    ['delete', 'user', MARKER, MARKER, MARKER],
    ['delete', 'user', `${MARKER}${'x'.repeat(2000)}`, MARKER, '--json'],
  ]) {
    const { status, stderr } = wafstate([argv[0] as string, '--path', path, ...argv.slice(1)]);
    expect(status).toBeGreaterThanOrEqual(2);
    expect(stderr).toMatch(/^wafstate: /);
    expect(stderr).not.toContain(MARKER);
  }
});
