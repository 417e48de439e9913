import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type CommitResult, DEFAULT_LIMITS, type LmdbBackend, type LmdbOptions, openLmdb } from 'wafstate';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

const NOW = 4_000_000_000_000_000_000n;
const PACKAGE = fileURLToPath(new URL('../../../dist/index.js', import.meta.url));
const RECORD = { space: 1, applicationId: '', key: 'k' } as never;

function add(backend: LmdbBackend): Promise<readonly CommitResult[]> {
  const mutations = [{ type: 'add', name: 'n', delta: 1n } as never];
  return backend.commit([{ record: RECORD, expect: 'any', mutations }], { now: NOW, limits: DEFAULT_LIMITS });
}

function value(backend: LmdbBackend): string | undefined {
  return backend.loadSync(RECORD, NOW, DEFAULT_LIMITS).variables.get('n' as never)?.value;
}

describe.each(IMPLEMENTATIONS)('an LMDB backend, %s', (implementation) => {
  const directory = scratchDirectory();
  let count = 0;

  function open(options: Partial<LmdbOptions> = {}): Promise<LmdbBackend> {
    return openLmdb({ path: join(directory, String(count)), mapSize: 2 ** 24, implementation, ...options });
  }

  function openNew(options: Partial<LmdbOptions> = {}): Promise<LmdbBackend> {
    count++;
    return open(options);
  }

  it('settles what was accepted before it closes, and refuses everything from then on', async () => {
    const backend = await openNew();
    const accepted = Array.from({ length: 50 }, () => add(backend));
    const closing = backend.close();
    expect(backend.close()).toBe(closing);
    const late = { code: 'closed', kind: 'unavailable', retryable: false };
    await expect(add(backend)).rejects.toMatchObject(late);
    await expect(backend.load(RECORD, NOW, DEFAULT_LIMITS)).rejects.toMatchObject(late);
    await expect(backend.scan({ now: NOW, limit: 1 })).rejects.toMatchObject(late);
    await expect(backend.cleanup(NOW, { records: 1, variables: 1 })).rejects.toMatchObject(late);
    expect(() => backend.stats()).toThrow(expect.objectContaining(late));
    await Promise.all(accepted);
    await closing;
    expect(() => value(backend)).toThrow(expect.objectContaining(late));
    const again = await open();
    expect(value(again)).toBe('50');
    await again.close();
  });

  it('shares the environment with a second one of the same thread', async () => {
    const [first, second] = [await openNew(), await open()];
    await add(first);
    expect(value(second)).toBe('1');
    await first.close();
    await add(second);
    expect(value(second)).toBe('2');
    await second.close();
  });

  it('read-only, loads and scans, and refuses to write', async () => {
    const backend = await openNew();
    await add(backend);
    await backend.close();
    const reader = await open({ readOnly: true });
    expect(value(reader)).toBe('1');
    expect((await reader.scan({ now: NOW, limit: 10 })).entries).toHaveLength(1);
    await expect(add(reader)).rejects.toMatchObject({ code: 'unsupported', details: { option: 'readOnly' } });
    await expect(reader.cleanup(NOW, { records: 1, variables: 1 })).rejects.toMatchObject({
      code: 'unsupported',
    });
    await reader.close();
  });

  it('tells what the environment holds', async () => {
    const backend = await openNew({ durability: 'relaxed' });
    await add(backend);
    expect(backend.stats()).toMatchObject({
      implementation,
      mapSize: 2 ** 24,
      pageSize: 4096,
      records: 1,
      durability: 'relaxed',
      queuedRequests: 0,
      sweepFailures: 0,
      syncFailures: 0,
    });
    await backend.close();
  });

  it('sweeps by itself', async () => {
    const backend = await openNew({ cleanupInterval: 0.05, clock: { now: () => NOW + 10n } });
    const mutations = [
      { type: 'set', name: 'n', value: 'v' } as never,
      { type: 'expire', name: 'n', deadline: NOW + 5n, onlyIfNone: false } as never,
    ];
    await backend.commit([{ record: RECORD, expect: 'any', mutations }], {
      now: NOW,
      limits: DEFAULT_LIMITS,
    });
    while (backend.stats().records > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await backend.close();
  });

  it('tells that all slots for readers are taken', async () => {
    const backend = await openNew({ maxReaders: 1 });
    await add(backend);
    expect(value(backend)).toBe('1');
    const script = `
      import { openLmdb, DEFAULT_LIMITS } from ${JSON.stringify(PACKAGE)};
      try {
        const backend = await openLmdb({ path: process.argv[1], maxReaders: 1, readOnly: true, implementation: '${implementation}' });
        backend.loadSync({ space: 1, applicationId: '', key: 'k' }, 0n, DEFAULT_LIMITS);
      } catch (error) {
        console.log(error.code, error.details.option, error.message);
      }`;
    const path = join(directory, String(count));
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script, path], {
      encoding: 'utf8',
    });
    expect(run.stdout || run.stderr).toMatch(
      /^capacity_exceeded maxReaders all \d+ slots of the reader table are taken by living/,
    );
    await add(backend);
    await backend.close();
  });

  it('lets an idle process end, but not before its commits have', () => {
    const script = `
      import { openLmdb, DEFAULT_LIMITS } from ${JSON.stringify(PACKAGE)};
      const backend = await openLmdb({ path: process.argv[1], implementation: '${implementation}', durability: process.argv[2] });
      const mutations = [{ type: 'add', name: 'n', delta: 1n }];
      backend.commit([{ record: { space: 1, applicationId: '', key: 'k' }, expect: 'any', mutations }], { now: ${NOW}n, limits: DEFAULT_LIMITS })
        .then(() => console.log('committed'));`;
    for (const durability of ['durable', 'relaxed']) {
      const path = join(directory, `idle ${durability}`);
      const run = spawnSync(process.execPath, ['--input-type=module', '-e', script, path, durability], {
        encoding: 'utf8',
        timeout: 50_000,
      });
      expect(run).toMatchObject({ status: 0, stdout: 'committed\n', stderr: '' });
    }
  });
});

describe('the two implementations', () => {
  it.skipIf(IMPLEMENTATIONS.length < 2)('use the same files, but not at once in one process', async () => {
    const path = join(scratchDirectory(), 'shared');
    for (let round = 1; round <= 4; round++) {
      const implementation = IMPLEMENTATIONS[round % 2] as 'native' | 'typescript';
      const backend = await openLmdb({ path, implementation });
      await add(backend);
      expect(value(backend)).toBe(String(round));
      const other = IMPLEMENTATIONS[(round + 1) % 2] as 'native' | 'typescript';
      await expect(openLmdb({ path, implementation: other })).rejects.toMatchObject({
        code: 'invalid_option',
        details: { option: 'implementation' },
      });
      await backend.close();
    }
  });
});
