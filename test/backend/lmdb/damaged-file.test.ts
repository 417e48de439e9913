import { cpSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type LmdbBackend, type LmdbOptions, openLmdb } from 'wafstate';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

const NOW = 1_700_000_000_000_000_000n;
const PAGE = 4096;
// Offsets within a meta page: docs in src/backend/lmdb/file/meta.ts.
const FREE_LIST_ROOT = 88;
const RECORDS_ROOT = 136;
const LAST_PAGE = 144;
const TRANSACTION = 152;

const scratch = scratchDirectory();
const sound = join(scratch, 'sound');
let count = 0;

function record(key: string) {
  return { space: 1, applicationId: '', key } as never;
}

async function change(
  backend: LmdbBackend,
  keys: readonly string[],
  value: string | undefined,
): Promise<void> {
  const mutations = [
    value === undefined ? { type: 'removeRecord' } : { type: 'set', name: 'n', value },
  ] as never;
  await Promise.all(
    keys.map((key) =>
      backend.commit([{ record: record(key), expect: 'any', mutations }], {
        now: NOW,
        limits: DEFAULT_LIMITS,
      }),
    ),
  );
}

const keys = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `${'k'.repeat(300)} ${from + i}`);

/** A tree of three levels, values on overflow pages, free pages. */
beforeAll(async () => {
  const backend = await openLmdb({ path: sound, cleanupInterval: 0 });
  await change(backend, keys(100, 400), 'v'.repeat(100));
  await change(backend, keys(100, 140), 'w'.repeat(9000));
  await change(backend, keys(200, 260), undefined);
  await backend.close();
});

/** A copy with its file changed. */
function damaged(damage: (file: Buffer) => Buffer | undefined): string {
  const path = join(scratch, `damaged ${++count}`);
  cpSync(sound, path, { recursive: true });
  const file = readFileSync(join(path, 'data.mdb'));
  writeFileSync(join(path, 'data.mdb'), damage(file) ?? file);
  return path;
}

function newest(file: Buffer): number {
  return file.readBigUInt64LE(TRANSACTION) > file.readBigUInt64LE(PAGE + TRANSACTION) ? 0 : PAGE;
}

const rootOf = (file: Buffer, tree: number): number => Number(file.readBigUInt64LE(newest(file) + tree));
const u64 = (file: Buffer, offset: number, value: number): unknown =>
  file.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), offset);

/** The first node of a page. */
const node = (file: Buffer, page: number): number => page * PAGE + 24 + file.readUInt16LE(page * PAGE + 24);

/** Where the lists of free pages begin: at each, how many pages follow it. */
function freeLists(file: Buffer): number[] {
  const leaf = rootOf(file, FREE_LIST_ROOT) * PAGE;
  const slots = file.readUInt16LE(leaf + 20) / 2;
  return Array.from({ length: slots }, (_, i) => leaf + 24 + file.readUInt16LE(leaf + 24 + 2 * i) + 16);
}

/** Where a list of free pages holds a page by itself: no hole, and not the first of a run. */
function freePage(file: Buffer): number {
  for (const list of freeLists(file)) {
    const end = list + 8 * Number(file.readBigInt64LE(list));
    for (let at = list + 8; at <= end; at += 8) {
      const isFirst = at === list + 8;
      if (file.readBigInt64LE(at) > 1n && (isFirst || file.readBigInt64LE(at - 8) >= 0n)) return at;
    }
  }
  throw new Error('the lists of free pages hold no page by itself');
}

async function refusal(path: string, options: Partial<LmdbOptions> = {}): Promise<string> {
  try {
    const backend = await openLmdb({ path, cleanupInterval: 0, ...options });
    await backend.close();
    return 'opened';
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message}`;
  }
}

describe('a glance before LMDB sees the file', () => {
  it.each<[string, (file: Buffer) => unknown, RegExp]>([
    [
      'a transaction that does not follow the other one',
      (f) => u64(f, newest(f) + TRANSACTION, 900),
      /do not follow each other/,
    ],
    [
      // The meta page of the state before would count as the newest, and its commits would be gone.
      'an older meta page made the newer one',
      (f) => u64(f, (newest(f) ^ PAGE) + TRANSACTION, Number(f.readBigUInt64LE(newest(f) + TRANSACTION)) + 1),
      /its last page was|the root of a tree, is of transaction/,
    ],
    [
      'the newer meta page made the older one',
      (f) => u64(f, newest(f) + TRANSACTION, Number(f.readBigUInt64LE(newest(f) + TRANSACTION)) - 2),
      /was written by transaction|the root of a tree, is of transaction|its last page was/,
    ],
    [
      'the root of the state before',
      (f) => u64(f, newest(f) + RECORDS_ROOT, rootOfOlder(f)),
      /the root of a tree/,
    ],
    [
      // Half of the records would be out of reach without a word.
      'a branch below the root for the root',
      (f) => u64(f, newest(f) + RECORDS_ROOT, f.readUInt32LE(node(f, rootOf(f, RECORDS_ROOT)))),
      /the root of a tree, is of transaction|at level 2 of a tree of 3 levels/,
    ],
    [
      // Entries of the free list would be read as records.
      'the root of the free list for that of the records',
      (f) => u64(f, newest(f) + RECORDS_ROOT, rootOf(f, FREE_LIST_ROOT)),
      /for the root of both trees/,
    ],
    [
      'the same in the meta page that is not in use',
      (f) => {
        const older = newest(f) ^ PAGE;
        return u64(f, older + RECORDS_ROOT, Number(f.readBigUInt64LE(older + FREE_LIST_ROOT)));
      },
      /for the root of both trees/,
    ],
    [
      'a root beyond the file',
      (f) => u64(f, newest(f) + RECORDS_ROOT, 2 ** 40),
      /has page 1099511627776 for the root/,
    ],
    [
      'fewer pages than are in use',
      (f) => u64(f, newest(f) + LAST_PAGE, Number(f.readBigUInt64LE(newest(f) + LAST_PAGE)) - 3),
      /its last page was|are in use or free|cannot be|lies|holds page/,
    ],
    ['more pages than the file has', (f) => u64(f, newest(f) + LAST_PAGE, 100_000), /it is cut short/],
    ['meta pages of different page sizes', (f) => f.writeUInt32LE(8192, PAGE + 48), /page size/],
    [
      'a free list that runs over its end',
      (f) => f.writeUInt32LE(60_000, node(f, rootOf(f, FREE_LIST_ROOT))),
      /running over its end/,
    ],
    [
      // Each run over again: with a large file, hours of work before it is refused.
      'a list of free pages that names all of them again and again',
      (f) => {
        const all = rootOf(f, LAST_PAGE) - 1;
        for (const list of freeLists(f))
          for (let at = list + 8; at + 8 <= list + 8 * f.readUInt32LE(list); at += 16) {
            u64(f, at, -all);
            u64(f, at + 8, 2);
          }
      },
      /holds more pages than there are/,
    ],
  ])('refuses %s', async (_, damage, message) => {
    const path = damaged((file) => {
      damage(file);
      return undefined;
    });
    for (const implementation of IMPLEMENTATIONS)
      expect(await refusal(path, { implementation })).toMatch(
        new RegExp(`^corrupt_data: openLmdb: .*(${message.source})`),
      );
  });

  it('lets a file end before its last page where that is free, as LMDB does', async () => {
    const path = join(scratch, 'short');
    cpSync(sound, path, { recursive: true });
    const backend = await openLmdb({ path, cleanupInterval: 0 });
    await change(backend, keys(400, 500), 'x'.repeat(9000));
    await change(backend, keys(400, 500), undefined);
    await change(backend, keys(100, 101), 'y');
    await change(backend, keys(100, 101), 'z');
    await backend.close();
    const file = join(path, 'data.mdb');
    const last = Number(readFileSync(file).readBigUInt64LE(newest(readFileSync(file)) + LAST_PAGE));
    truncateSync(file, last * PAGE);
    for (const implementation of IMPLEMENTATIONS)
      expect(await refusal(path, { implementation, integrity: 'full' })).toBe('opened');
    truncateSync(file, 20 * PAGE);
    expect(await refusal(path)).toMatch(/it is cut short/);
  });

  it.each([false, true])(
    'takes what the copy function of LMDB has made, compacting: %s',
    async (compacting) => {
      const path = join(scratch, `copy ${compacting}`);
      mkdirSync(path);
      const environment = open({ path: sound, noSubdir: false, overlappingSync: false });
      await environment.backup(path, compacting);
      await environment.close();
      for (const implementation of IMPLEMENTATIONS)
        expect(await refusal(path, { implementation, integrity: 'full' })).toBe('opened');
    },
  );
});

/** Of the records, in the meta page that does not count. */
function rootOfOlder(file: Buffer): number {
  return Number(file.readBigUInt64LE((newest(file) ^ PAGE) + RECORDS_ROOT));
}

describe("integrity: 'full'", () => {
  /** The last leaf of the records: a glance comes to the first one only. */
  const lastLeaf = (file: Buffer): number => {
    let page = rootOf(file, RECORDS_ROOT);
    while (file.readUInt16LE(page * PAGE + 18) === 1) {
      const end = page * PAGE + 24 + file.readUInt16LE(page * PAGE + 20);
      page = file.readUInt32LE(page * PAGE + 24 + file.readUInt16LE(end - 2));
    }
    return page;
  };

  it.each<[string, (file: Buffer, leaf: number) => unknown, RegExp]>([
    ['a leaf of zeros', (f, leaf) => f.fill(0, leaf * PAGE, (leaf + 1) * PAGE), /calls itself page 0/],
    ['a leaf under another number', (f, leaf) => u64(f, leaf * PAGE, 5), /calls itself page 5/],
    [
      'a leaf of a transaction to come',
      (f, leaf) => u64(f, leaf * PAGE + 8, 5000),
      /was written by transaction 5000/,
    ],
    ['a leaf called a branch', (f, leaf) => f.writeUInt16LE(1, leaf * PAGE + 18), /page \d+ /],
    [
      'a node beyond the page',
      (f, leaf) => f.writeUInt16LE(4090, leaf * PAGE + 24),
      /has node 0 outside of it/,
    ],
    [
      'a value longer than the page',
      (f, leaf) => f.writeUInt16LE(5000, node(f, leaf)),
      /running over its end/,
    ],
    [
      'nodes that overlap',
      (f, leaf) => f.writeUInt16LE(f.readUInt16LE(leaf * PAGE + 26), leaf * PAGE + 24),
      /overlap or leave a gap|out of order/,
    ],
    ['keys out of order', (f, leaf) => f.writeUInt8(0xff, node(f, leaf) + 8 + 100), /out of order/],
    ['a key of another leaf', (f, leaf) => f.writeUInt8(0, node(f, leaf) + 8 + 100), /belong elsewhere/],
    [
      'a page in two places',
      (f, leaf) => void f.writeUInt32LE(leaf, siblingOf(f, leaf)),
      /belongs to two places|belong elsewhere/,
    ],
    [
      'a flipped value',
      (f, leaf) => f.writeUInt8(f.readUInt8((leaf + 1) * PAGE - 20) ^ 1, (leaf + 1) * PAGE - 20),
      /records are corrupt/,
    ],
  ])('refuses %s', async (_, damage, message) => {
    const path = damaged((file) => {
      damage(file, lastLeaf(file));
      return undefined;
    });
    expect(await refusal(path, { integrity: 'full', readOnly: true })).toMatch(
      new RegExp(`^corrupt_data: openLmdb: .* is damaged: .*(${message.source})`),
    );
  });

  it('refuses a page in use that is listed as free', async () => {
    const path = damaged((file) => {
      u64(file, freePage(file), lastLeaf(file));
      return undefined;
    });
    expect(await refusal(path, { integrity: 'full' })).toMatch(
      /is in use and listed as free|list of free pages/,
    );
  });

  it('opens what is sound', async () => {
    for (const implementation of IMPLEMENTATIONS)
      expect(
        await refusal(
          damaged(() => undefined),
          { implementation, integrity: 'full' },
        ),
      ).toBe('opened');
  });
});

/** Where the parent of the last leaf names the leaf before it. */
function siblingOf(file: Buffer, leaf: number): number {
  for (let page = 2; page * PAGE < file.length; page++) {
    if (file.readUInt16LE(page * PAGE + 18) !== 1) continue;
    const end = page * PAGE + 24 + file.readUInt16LE(page * PAGE + 20);
    const last = page * PAGE + 24 + file.readUInt16LE(end - 2);
    if (file.readUInt32LE(last) === leaf && end - 4 >= page * PAGE + 24)
      return page * PAGE + 24 + file.readUInt16LE(end - 4);
  }
  throw new Error('the last leaf has no parent with another child');
}
