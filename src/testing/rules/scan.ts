import assert from 'node:assert/strict';
import type { ScanQuery } from '../../contract/backend.js';
import { SECOND } from '../../contract/clock.js';
import type { RecordName } from '../../contract/space.js';
import { plain, record, rejects, type Session } from '../session.js';
import { bytes, expire, removeRecord, set } from '../steps.js';
import type { Suite } from '../suite.js';

/** In the order in which a scan must give them. */
const ORDERED: readonly RecordName[] = [
  record('\xff', 1, ''),
  record('\0', 1, 'b'),
  record('a', 1, 'b'),
  record('a', 1, 'aa'),
  record('a\0', 1, 'aa'),
  record('a0', 1, 'aa'),
  record('aa', 1, 'aa'),
  record('b', 1, 'aa'),
  record('b\xff', 1, 'aa'),
  record('b\xff\xff', 1, 'aa'),
  record('\x80', 1, 'aa'),
  record('a', 1, 'ab'),
  record('a', 2, ''),
  record('a', 5, 'aa'),
  record('a', 16, 'b'),
  record('a', 255, ''),
];

/** `scan` lists in byte order, page by page. Needs `ordered_scan`. */
export function scans(suite: Suite): void {
  if (!suite.has('ordered_scan')) return;
  suite.area('scan', () => {
    order(suite);
    queries(suite);
    contents(suite);
  });
}

function order(suite: Suite): void {
  suite.rule('of an empty engine is one empty page', async (s) => {
    assert.deepEqual(await s.scan(), { entries: [], next: undefined });
  });

  suite.rule('lists by space, length of application id, application id and key', async (s) => {
    await fillShuffled(s);
    assert.deepEqual(await s.scanAll(), ORDERED);
  });

  suite.rule('lists each record once, whatever the size of a page', async (s) => {
    await fillShuffled(s);
    for (const limit of [1, 2, 3, 7, ORDERED.length, ORDERED.length + 1]) {
      assert.deepEqual(await s.scanAll({ limit }), ORDERED, `pages of ${limit}`);
    }
  });

  suite.rule('keeps its page within the limit', async (s) => {
    await fillShuffled(s);
    const page = await s.scan({ limit: 5 });
    assert.ok(page.entries.length <= 5);
    assert.notEqual(page.next, undefined);
  });

  suite.rule('sees what came and went between two scans', async (s) => {
    await fillShuffled(s);
    await s.scanAll();
    await s.write(record('a-', 1, 'aa'), [set('x', '1')]);
    await s.write(record('a', 1, 'aa'), [removeRecord()]);
    await s.write(record('zz', 1, 'aa'), [set('x', '1')]);
    const keys = (await s.scanAll({ space: 1, applicationId: bytes('aa') })).map(({ key }) => key);
    assert.deepEqual(keys, ['a\0', 'a-', 'a0', 'aa', 'b', 'b\xff', 'b\xff\xff', 'zz', '\x80']);
  });

  suite.rule('loses and repeats nothing while records come and go between its pages', async (s) => {
    for (let i = 0; i < 30; i++) await s.write(key(i * 10), [set('x', '1')]);
    const seen: string[] = [];
    let after: RecordName | undefined;
    for (let page = 0; ; page++) {
      const { entries, next } = await s.scan({ limit: 4, after });
      seen.push(...entries.map((entry) => entry.record.key));
      if (next === undefined) break;
      after = next;
      await s.write(next, [removeRecord()]);
      await s.write(key(page * 7 + 1), [set('x', '1')]);
    }
    const old = seen.filter((name) => Number(name) % 10 === 0);
    assert.deepEqual(
      old,
      Array.from({ length: 30 }, (_, i) => key(i * 10)),
    );
    assert.deepEqual(seen, [...new Set(seen)].sort());
  });
}

function queries(suite: Suite): void {
  const cases: readonly (readonly [string, Partial<ScanQuery>, (name: RecordName) => boolean])[] = [
    ['of one space', { space: 1 }, ({ space }) => space === 1],
    ['of a space without records', { space: 3 }, () => false],
    [
      'of one application',
      { space: 1, applicationId: bytes('aa') },
      ({ space, applicationId }) => space === 1 && applicationId === 'aa',
    ],
    [
      'of the application without a name',
      { space: 1, applicationId: bytes('') },
      ({ space, applicationId }) => space === 1 && applicationId === '',
    ],
    ...['', 'a', 'b\xff', '\x80', 'c', '\xff\xff'].map(
      (prefix) =>
        [
          `of the prefix ${JSON.stringify(prefix)}`,
          { space: 1, applicationId: bytes('aa'), prefix: bytes(prefix) },
          ({ space, applicationId, key }: RecordName) =>
            space === 1 && applicationId === 'aa' && key.startsWith(prefix),
        ] as const,
    ),
  ];
  suite.rule('lists those of a space, an application or a prefix, in pages too', async (s) => {
    await fillShuffled(s);
    for (const [what, query, belongs] of cases) {
      const expected = ORDERED.filter(belongs);
      assert.deepEqual(await s.scanAll(query), expected, what);
      assert.deepEqual(await s.scanAll({ ...query, limit: 1 }), expected, `${what}, one by one`);
    }
  });

  suite.rule('lists what comes after a record, which need not exist', async (s) => {
    await fillShuffled(s);
    for (const [index, name] of ORDERED.entries()) {
      assert.deepEqual(await s.scanAll({ after: name }), ORDERED.slice(index + 1));
    }
    assert.deepEqual(await s.scanAll({ after: record('a!', 1, 'aa') }), ORDERED.slice(5));
    assert.deepEqual(await s.scanAll({ after: record('zzz', 1, 'zzz') }), ORDERED.slice(12));
    assert.deepEqual(await s.scanAll({ after: record('a', 3, 'x') }), ORDERED.slice(13));
  });

  suite.rule('takes an after that lies outside of what it lists', async (s) => {
    await fillShuffled(s);
    const query = { space: 1, applicationId: bytes('aa'), prefix: bytes('b') };
    const expected = ORDERED.slice(7, 10);
    assert.deepEqual(await s.scanAll({ ...query, after: record('a', 1, 'aa') }), expected);
    assert.deepEqual(await s.scanAll({ ...query, after: record('a', 1, 'b') }), expected);
    assert.deepEqual(await s.scanAll({ ...query, after: record('c', 1, 'aa') }), []);
    assert.deepEqual(await s.scanAll({ ...query, after: record('a', 2, '') }), []);
  });

  suite.rule('refuses a page of no or of more than 1000 entries, and a query with a gap', async (s) => {
    for (const limit of [0, 1001, -1, 1.5]) await rejects(() => s.scan({ limit }), 'invalid_option');
    await rejects(() => s.scan({ applicationId: bytes('aa') }), 'invalid_option');
    await rejects(() => s.scan({ space: 1, prefix: bytes('a') }), 'invalid_option');
  });
}

function contents(suite: Suite): void {
  suite.rule('gives with each record what load gives', async (s) => {
    await s.write('a', [set('x', '1'), set('y', 'text')], { timeout: 60n * SECOND });
    await s.write('b', [set('z', '3')]);
    const { entries } = await s.scan();
    assert.equal(entries.length, 2);
    for (const entry of entries) {
      assert.deepEqual(entry.snapshot && plain(entry.snapshot), await s.load(entry.record));
    }
  });

  suite.rule('leaves timed-out records out, unless hidden is asked for', async (s) => {
    await s.write('dead', [set('x', '1')], { timeout: 10n * SECOND });
    await s.write('live', [set('x', '1')]);
    s.wait(10);
    assert.deepEqual(await s.scanAll(), [record('live')]);
    assert.deepEqual(await s.scanAll({ hidden: true }), [record('dead'), record('live')]);
    const { entries } = await s.scan({ hidden: true, limit: 1 });
    assert.equal(entries[0]?.snapshot?.variables.get(bytes('x'))?.value, '1');
    assert.equal(entries[0]?.snapshot?.facts?.timeout, 10n * SECOND);
  });

  suite.rule('gets past a long stretch of timed-out records', async (s) => {
    for (let i = 0; i < 50; i++) await s.write(key(i), [set('x', '1')], { timeout: SECOND });
    await s.write('live', [set('x', '1')]);
    s.wait(1);
    assert.deepEqual(await s.scanAll({ limit: 2 }), [record('live')]);
  });

  if (suite.has('per_variable_expiry')) {
    suite.rule(
      'leaves expired variables and pending deadlines out, unless hidden is asked for',
      async (s) => {
        await s.write('k', [set('a', '1'), set('b', '2'), expire('a', s.in(10)), expire('c', s.in(60))]);
        s.wait(10);
        const names = async (hidden: boolean) => {
          const { entries } = await s.scan({ hidden });
          return [...(entries[0]?.snapshot?.variables.keys() ?? [])];
        };
        assert.deepEqual(await names(false), ['b']);
        assert.deepEqual(await names(true), ['a', 'b', 'c']);
      },
    );

    suite.rule('lists a record whose variables are all expired: it is still there', async (s) => {
      await s.write('k', [set('a', '1'), expire('a', s.in(10))]);
      s.wait(10);
      assert.deepEqual(await s.scanAll(), [record('k')]);
    });
  }
}

function key(number: number): string {
  return String(number).padStart(3, '0');
}

/** Every record of `ORDERED`, written in an order that is neither theirs nor its reverse. */
async function fillShuffled(s: Session): Promise<void> {
  for (let i = 0; i < ORDERED.length; i++) {
    const name = ORDERED[(i * 7 + 3) % ORDERED.length] as RecordName;
    await s.write(name, [set('x', '1')]);
  }
}
