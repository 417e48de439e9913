import { join } from 'node:path';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type LmdbBackend, openLmdb, type RecordName, WafStateError } from 'wafstate';
import { scratchDirectory } from '../backend/lmdb/directory.js';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { json, wafstate } from '../cli/program.js';

const NOW = 1_700_000_000_000_000_000n;
const OPTIONS = { now: NOW, limits: DEFAULT_LIMITS };
const LATER = NOW + 3_600_000_000_000n;

function named(key: string): RecordName {
  return { space: 1, applicationId: '', key } as RecordName;
}

/** Changes what stands under a record's key, as nothing but a fault would. */
async function overwrite(path: string, key: string, damage: (record: Buffer) => Buffer): Promise<void> {
  const environment = open<Buffer, Buffer>({
    path,
    noSubdir: false,
    overlappingSync: false,
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const stored = Buffer.concat([Buffer.from([1, 0]), Buffer.from(key)]);
  const record = environment.get(stored);
  if (record === undefined) throw new Error(`there is no ${key}`);
  await environment.put(stored, damage(Buffer.from(record)));
  await environment.close();
}

const DAMAGE: Record<string, (record: Buffer) => Buffer> = {
  'a flipped bit': (record) => {
    record.writeUInt8(record.readUInt8(50) ^ 4, 50);
    return record;
  },
  'a cut record': (record) => record.subarray(0, record.length - 7),
  'an empty value': () => Buffer.alloc(0),
  'bytes of another format': () => Buffer.from('{"json": true}'),
};

describe.each(IMPLEMENTATIONS)('a corrupt record in LMDB, %s,', (implementation) => {
  const directory = scratchDirectory();
  let count = 0;
  let path = '';
  let backend: LmdbBackend | undefined;

  beforeEach(async () => {
    path = join(directory, `environment ${++count}`);
    const made = await openLmdb({ path, implementation, cleanupInterval: 0 });
    for (const key of ['a', 'b', 'c'])
      await made.commit(
        [
          {
            record: named(key),
            expect: 'any',
            timeout: 60_000_000_000n,
            mutations: [{ type: 'set', name: 'n', value: key } as never],
          },
        ],
        OPTIONS,
      );
    await made.close();
  });
  afterEach(async () => {
    await backend?.close();
    backend = undefined;
  });

  it.each(['a flipped bit', 'a cut record', 'an empty value', 'bytes of another format'])(
    'by %s costs that record only',
    async (way) => {
      await overwrite(path, 'b', DAMAGE[way] as (record: Buffer) => Buffer);
      backend = await openLmdb({ path, implementation, cleanupInterval: 0 });
      expect(() => backend?.loadSync(named('b'), NOW, DEFAULT_LIMITS)).toThrow(
        expect.objectContaining({ code: 'corrupt_data' }),
      );
      for (const key of ['a', 'c'])
        expect(backend.loadSync(named(key), NOW, DEFAULT_LIMITS).variables.get('n' as never)?.value).toBe(
          key,
        );
      const { entries } = await backend.scan({ now: NOW, limit: 10 });
      expect(entries.map(({ record, error }) => [record.key, error?.code])).toEqual([
        ['a', undefined],
        ['b', 'corrupt_data'],
        ['c', undefined],
      ]);
      const add = {
        record: named('b'),
        expect: 'any',
        mutations: [{ type: 'set', name: 'n', value: '1' } as never],
      } as const;
      await expect(backend.commit([add], OPTIONS)).rejects.toMatchObject({ code: 'corrupt_data' });
      await expect(backend.commit([{ ...add, record: named('a') }], OPTIONS)).resolves.toHaveLength(1);
      // Cleanup passes over it and goes on behind it.
      await backend.cleanup(LATER, { records: 100, variables: 100 });
      const left = await backend.scan({ now: NOW, limit: 10, hidden: true });
      expect(left.entries.map(({ record }) => record.key)).toEqual(['b']);
    },
  );

  it('is named by verify, kept out of an export, and removed by delete', async () => {
    await overwrite(path, 'b', DAMAGE['a cut record'] as (record: Buffer) => Buffer);
    const verified = wafstate(['verify', '--path', path, '--json']);
    expect(verified.status).toBe(1);
    expect(json(verified)).toMatchObject({
      complete: true,
      records: 2,
      corruptRecords: 1,
      damages: 0,
      corrupt: [{ collection: 'ip', application: '', key: 'b' }],
    });
    const exported = wafstate(['export', '--path', path]);
    expect(exported.status).toBe(1);
    expect(exported.stdout).toMatch(/^unreadable space=ip application= key=b reason=/m);
    expect(exported.stdout.match(/^record /gm)).toHaveLength(2);
    expect(wafstate(['delete', '--path', path, 'ip', 'b']).status).toBe(0);
    expect(wafstate(['verify', '--path', path]).status).toBe(0);
  });

  it('keeps integrity: full from opening, which names the remedy', async () => {
    await overwrite(path, 'b', DAMAGE['a flipped bit'] as (record: Buffer) => Buffer);
    await expect(openLmdb({ path, implementation, integrity: 'full' })).rejects.toMatchObject({
      code: 'corrupt_data',
      message: expect.stringMatching(/1 records are corrupt; `wafstate verify` names them/),
      details: { option: 'integrity', actual: 1 },
    });
  });

  it('is skipped or replaced by a restore as one that is there', async () => {
    await overwrite(path, 'b', DAMAGE['a cut record'] as (record: Buffer) => Buffer);
    const source = join(directory, `source ${count}`);
    const other = await openLmdb({ path: source, implementation, cleanupInterval: 0 });
    await other.commit(
      [{ record: named('b'), expect: 'any', mutations: [{ type: 'set', name: 'n', value: 'new' } as never] }],
      OPTIONS,
    );
    await other.close();
    const exported = join(directory, `export ${count}`);
    expect(wafstate(['export', '--path', source, '--output', exported]).status).toBe(0);
    expect(wafstate(['import', exported, '--path', path]).status).toBe(3);
    expect(wafstate(['import', exported, '--path', path, '--on-conflict', 'replace']).status).toBe(0);
    backend = await openLmdb({ path, implementation, cleanupInterval: 0 });
    expect(backend.loadSync(named('b'), NOW, DEFAULT_LIMITS).variables.get('n' as never)?.value).toBe('new');
  });

  it('the last revision of the wrong length refuses commits with its name, and reads go on', async () => {
    const environment = open<Buffer, Buffer>({
      path,
      noSubdir: false,
      overlappingSync: false,
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    await environment.put(Buffer.from([0, 2]), Buffer.from([1, 2, 3]));
    await environment.close();
    backend = await openLmdb({ path, implementation, cleanupInterval: 0 });
    const commit = backend.commit(
      [{ record: named('a'), expect: 'any', mutations: [{ type: 'removeRecord' }] }],
      OPTIONS,
    );
    await expect(commit).rejects.toBeInstanceOf(WafStateError);
    expect(backend.loadSync(named('a'), NOW, DEFAULT_LIMITS).revision).toBeGreaterThan(0);
    expect(wafstate(['verify', '--path', path]).stdout).toMatch(/it has 3 bytes, not 8/);
  });
});
