import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type LmdbBackend, openLmdb, type ScanEntry } from 'wafstate';
import { scratchDirectory } from '../backend/lmdb/directory.js';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { json, MAIN, wafstate } from './program.js';

const NOW = 1_700_000_000_000_000_000n;
const WRITER = fileURLToPath(new URL('./transfer-writer.mjs', import.meta.url));
const scratch = scratchDirectory();
let count = 0;
const fresh = (): string => join(scratch, `state ${++count}`);

type Write = Parameters<LmdbBackend['commit']>[0][number];

async function fill(path: string, commits: readonly { writes: Write[]; now: bigint }[]): Promise<void> {
  const backend = await openLmdb({ path, cleanupInterval: 0 });
  for (const { writes, now } of commits) await backend.commit(writes, { now, limits: DEFAULT_LIMITS });
  await backend.close();
}

/** Everything but the revisions. */
async function contents(path: string): Promise<Omit<ScanEntry, 'snapshot'>[]> {
  const backend = await openLmdb({ path, cleanupInterval: 0, readOnly: true });
  const { entries } = await backend.scan({ now: NOW, limit: 1000, hidden: true });
  await backend.close();
  return entries.map(({ record, snapshot }) => ({
    record,
    facts: snapshot?.facts,
    variables: snapshot?.variables,
  }));
}

const bytes = (max: number) =>
  fc.uint8Array({ minLength: 1, maxLength: max }).map((array) => Buffer.from(array).toString('latin1'));

const mutation = fc.oneof(
  fc.record({
    type: fc.constant('set'),
    name: bytes(6).map((name) => name.toLowerCase()),
    value: fc.oneof(bytes(40), fc.constant(''), fc.integer().map(String)),
  }),
  fc.record({
    type: fc.constant('expire'),
    name: bytes(3).map((name) => name.replace(/[A-Z]/g, 'a')),
    deadline: fc.bigInt({ min: NOW, max: NOW + 10n ** 12n }),
  }),
);

const write = fc.record({
  record: fc.record({
    space: fc.constantFrom(1, 3, 5, 16, 255),
    applicationId: fc.oneof(fc.constant(''), bytes(10)),
    key: bytes(30),
  }),
  expect: fc.constant('any'),
  timeout: fc.option(fc.bigInt({ min: 1n, max: 10n ** 14n }), { nil: undefined }),
  mutations: fc.array(mutation, { minLength: 1, maxLength: 5 }),
});

describe('export and import', () => {
  it('bring back every byte, fact, deadline and clock, whatever the bytes are', {
    timeout: 240_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(write, fc.bigInt({ min: NOW, max: NOW + 10n ** 10n })), { maxLength: 12 }),
        async (writes) => {
          const [from, to, file] = [fresh(), fresh(), fresh()];
          const sound = writes.map(([one, now]) => ({
            writes: [
              {
                ...one,
                mutations: one.mutations.map((m) => ({ ...m, name: m.name.replace(/[A-Z]/g, 'z') })),
              } as unknown as Write,
            ],
            now,
          }));
          await fill(from, sound);
          expect(wafstate(['export', '--path', from, '--output', file]).status).toBe(0);
          const imported = wafstate(['import', file, '--path', to, '--json']);
          expect(imported.stderr).toBe('');
          const before = await contents(from);
          expect(await contents(to)).toEqual(before);
          expect(json(imported)).toEqual({ records: before.length, restored: before.length, skipped: 0 });
        },
      ),
      { numRuns: 6 },
    );
  });

  it.each(IMPLEMENTATIONS)(
    'give new revisions, beyond those of the environment, %s',
    async (implementation) => {
      const [from, to, file] = [fresh(), fresh(), fresh()];
      const set = (value: string): Write =>
        ({
          record: { space: 1, applicationId: '', key: 'k' },
          expect: 'any',
          mutations: [{ type: 'set', name: 'n', value }],
        }) as never;
      await fill(from, [{ writes: [set('exported')], now: NOW }]);
      wafstate(['export', '--path', from, '--output', file]);
      await fill(to, [{ writes: [set('present')], now: NOW }]);
      const native = implementation === 'native' ? 'require' : '0';
      const run = (...more: string[]) => wafstate(['import', file, '--path', to, ...more], { native });
      const revision = async (): Promise<[number, string | undefined]> => {
        const backend = await openLmdb({ path: to, readOnly: true });
        const { revision, variables } = backend.loadSync(
          { space: 1, applicationId: '', key: 'k' } as never,
          NOW,
          DEFAULT_LIMITS,
        );
        await backend.close();
        return [revision, variables.get('n' as never)?.value];
      };
      const [before] = await revision();
      const refused = run('--json');
      expect(refused.status).toBe(3);
      expect(json(refused)).toMatchObject({
        error: {
          code: 'already_exists',
          message: expect.stringMatching(/1 of its records is there already; nothing was imported/),
        },
      });
      expect(run('--on-conflict', 'skip').stdout).toMatch(/0 records imported, 1 was there already/);
      expect(await revision()).toEqual([before, 'present']);
      expect(run('--on-conflict', 'replace').status).toBe(0);
      const [after, value] = await revision();
      expect(value).toBe('exported');
      expect(after).toBeGreaterThan(before);
    },
  );

  it('take the text plain or as gzip, from a file, a pipe and standard input', async () => {
    const from = fresh();
    const plain = exported(from);
    const zipped = fresh();
    writeFileSync(zipped, gzipSync(readFileSync(plain)));
    const before = await contents(from);
    for (const [source, input] of [
      [zipped, undefined],
      ['-', readFileSync(zipped)],
      ['-', readFileSync(plain)],
    ] as const) {
      const to = fresh();
      const run = wafstate(['import', source, '--path', to], input === undefined ? {} : { input });
      expect(run).toMatchObject({ status: 0, stderr: '' });
      expect(await contents(to)).toEqual(before);
    }
    const to = fresh();
    const piped = ['cat "$0" | "$@"', zipped, process.execPath, MAIN, 'import', '/dev/stdin', '--path', to];
    expect(spawnSync('sh', ['-c', ...piped], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(await contents(to)).toEqual(before);
    writeFileSync(zipped, readFileSync(zipped).subarray(0, -20));
    for (const [source, input] of [
      [zipped, undefined],
      ['-', readFileSync(zipped)],
    ] as const) {
      const to = fresh();
      const run = wafstate(['import', source, '--path', to, '--json'], input === undefined ? {} : { input });
      expect(run.status).toBe(3);
      expect(json(run)).toMatchObject({
        error: { code: 'corrupt_data', message: expect.stringContaining('its gzip is damaged or cut short') },
      });
      expect(existsSync(to)).toBe(false);
    }
  });

  it('notice text that was cut short, changed or added to, before anything is written', async () => {
    const [from, file] = [fresh(), fresh()];
    const many = Array.from({ length: 20 }, (_, i) => ({
      record: { space: 2, applicationId: 'a b', key: `k%${i}` },
      expect: 'any',
      mutations: [{ type: 'set', name: 'n', value: 'x y' }],
    }));
    await fill(from, [{ writes: many as never, now: NOW }]);
    wafstate(['export', '--path', from, '--output', file]);
    const text = readFileSync(file, 'latin1');
    expect(text).toMatch(/^record space=session application=a%20b key=k%250 /m);
    const lines = text.split('\n');
    const spoiled: [string, string, RegExp][] = [
      ['the last line is gone', `${lines.slice(0, -2).join('\n')}\n`, /cut short/],
      ['it ends within a line', text.slice(0, -3), /cut short/],
      [
        'a record is gone',
        [...lines.slice(0, 3), ...lines.slice(5)].join('\n'),
        /counts 20 records, and there are 19/,
      ],
      ['a value was changed', text.replace('value=x%20y', 'value=x%20z'), /another digest/],
      ['something follows', `${text}record\n`, /follows its end/],
      ['a field is unknown', text.replace(' updates=', ' color=red updates='), /unknown field 'color'/],
      ['it is of a later version', text.replace('version=1', 'version=2'), /of version 2/],
      ['it is no export', 'key,value\n1,2\n', /not the beginning/],
      ['a clock breaks the record', text.replace(/ clock=\d+/, ''), /cannot be a record|another digest/],
    ];
    for (const [what, changed, message] of spoiled) {
      const to = fresh();
      const bad = fresh();
      writeFileSync(bad, changed, 'latin1');
      const run = wafstate(['import', bad, '--path', to]);
      expect(`${what}: ${run.status} ${run.stderr}`).toMatch(new RegExp(`^${what}: 3 .*${message.source}`));
      expect(existsSync(to)).toBe(false);
    }
  });

  it('write no file that others may read, and none that is there', () => {
    const [from, file] = [fresh(), fresh()];
    wafstate(['import', exported(from), '--path', fresh()]);
    writeFileSync(file, 'precious');
    expect(wafstate(['export', '--path', from, '--output', file]).status).toBe(3);
    expect(readFileSync(file, 'utf8')).toBe('precious');
    const other = fresh();
    wafstate(['export', '--path', from, '--output', other]);
    expect(statSync(other).mode & 0o777).toBe(0o600);
  });
});

/** A file with one record, by way of a new state directory at `path`. */
function exported(path: string): string {
  const log = fresh();
  wafstate(['replay', '--path', path, '--requests', '2000', '--json']);
  wafstate(['export', '--path', path, '--output', log]);
  return log;
}

describe('backup', () => {
  it('beside a live writer holds every commit acknowledged before it began', {
    timeout: 120_000,
  }, async () => {
    const [path, copy] = [fresh(), fresh()];
    const writer = spawn(process.execPath, [WRITER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    let acknowledged: number[] = [];
    createInterface({ input: writer.stdout }).on('line', (line) => {
      acknowledged = JSON.parse(line) as number[];
    });
    while (!acknowledged.some((n) => n > 20)) await new Promise((resolve) => setTimeout(resolve, 20));
    const before = [...acknowledged];
    const child = spawn(process.execPath, [
      fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url)),
      'backup',
      copy,
      '--path',
      path,
    ]);
    const [status] = (await once(child, 'exit')) as [number];
    expect(status).toBe(0);
    const later = acknowledged.reduce((sum, n) => sum + n, 0);
    expect(later).toBeGreaterThan(before.reduce((sum, n) => sum + n, 0));
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    const backend = await openLmdb({ path: copy, integrity: 'full', readOnly: true });
    for (const [index, least] of before.entries()) {
      const { variables } = backend.loadSync(
        { space: 1, applicationId: '', key: `counter ${index}` } as never,
        NOW,
        DEFAULT_LIMITS,
      );
      expect(Number(variables.get('count' as never)?.value)).toBeGreaterThanOrEqual(least);
    }
    await backend.close();
    expect(statSync(copy).mode & 0o777).toBe(0o700);
    expect(statSync(join(copy, 'data.mdb')).mode & 0o777).toBe(0o600);
  });

  it('never overwrites what is there, and comes back by import', async () => {
    const [path, there, copy, to] = [fresh(), fresh(), fresh(), fresh()];
    exported(path);
    mkdirSync(there);
    for (const place of [there, '/etc/passwd']) {
      const run = wafstate(['backup', place, '--path', path]);
      expect(`${run.status} ${run.stderr}`).toMatch(/^3 .*is there already, and a backup overwrites nothing/);
    }
    symlinkSync('nowhere', `${there} link`);
    expect(wafstate(['backup', `${there} link`, '--path', path]).status).toBe(3);
    expect(wafstate(['backup', copy, '--path', path]).status).toBe(0);
    expect(wafstate(['import', copy, '--path', to]).status).toBe(0);
    expect(await contents(to)).toEqual(await contents(path));
  });

  it('and import refuse a damaged file, of which export saves the rest', async () => {
    const [path, copy, to] = [fresh(), fresh(), fresh()];
    const many = Array.from({ length: 200 }, (_, i) => ({
      record: { space: 1, applicationId: '', key: `key ${i}` },
      expect: 'any',
      mutations: [{ type: 'set', name: 'n', value: 'v'.repeat(100) }],
    }));
    await fill(path, [{ writes: many as never, now: NOW }]);
    const file = join(path, 'data.mdb');
    const bytes = readFileSync(file);
    const leaf = lastLeafOf(bytes);
    bytes.fill(0, leaf * 4096 + 24, (leaf + 1) * 4096);
    writeFileSync(file, bytes);
    const backup = wafstate(['backup', copy, '--path', path]);
    expect(`${backup.status} ${backup.stderr}`).toMatch(/^3 .*is damaged, so it was not copied: page \d+/);
    expect(existsSync(copy)).toBe(false);
    expect(wafstate(['import', path, '--path', to]).status).toBe(3);
    expect(existsSync(to)).toBe(false);
    const text = fresh();
    expect(wafstate(['export', '--path', path, '--output', text]).status).toBe(1);
    const imported = wafstate(['import', text, '--path', to, '--json']);
    expect(Number(json(imported)['restored'])).toBeGreaterThan(10);
    expect(readFileSync(text, 'latin1')).toMatch(/^damaged page=\d+ what=/m);
  });

  it('of one meta page that is left is not made, but an export is', () => {
    const path = fresh();
    const text = exported(path);
    const file = join(path, 'data.mdb');
    const bytes = readFileSync(file);
    const newer = bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(4096 + 152) ? 0 : 4096;
    bytes.fill(0xaa, newer === 0 ? 4096 : 0, newer === 0 ? 8192 : 4096);
    writeFileSync(file, bytes);
    const saved = wafstate(['export', '--path', path]);
    expect(saved.status).toBe(1);
    const records = (lines: string): string[] =>
      lines.split('\n').filter((line) => /^(record|variable)/.test(line));
    expect(records(saved.stdout)).toEqual(records(readFileSync(text, 'latin1')));
    expect(wafstate(['backup', fresh(), '--path', path]).status).toBe(3);
  });
});

/** The last child of the records' root, which is a branch. */
function lastLeafOf(bytes: Buffer): number {
  const newer = bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(4096 + 152) ? 0 : 4096;
  const root = Number(bytes.readBigUInt64LE(newer + 136)) * 4096;
  expect(bytes.readUInt16LE(root + 18)).toBe(1);
  const last = bytes.readUInt16LE(root + 24 + bytes.readUInt16LE(root + 20) - 2);
  return bytes.readUInt32LE(root + 24 + last);
}
