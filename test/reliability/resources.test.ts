import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, nativeStatus, openLmdb, openSharedMemory } from 'wafstate';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';
import { add, counted, NOW, RECORD } from './engines.js';
import { ROOT, run, start } from './program.js';

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-resources-'));
const mounted: string[] = [];
afterAll(() => {
  for (const path of mounted) execFileSync('umount', ['-l', path]);
  rmSync(scratch, { recursive: true, force: true });
});

let count = 0;
const fresh = (): string => join(scratch, `state ${++count}`);

/** A disk of so many bytes, or why there is none. */
function disk(bytes: number): string | undefined {
  const path = fresh();
  mkdirSync(path);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'none', path], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  mounted.push(path);
  return path;
}

const mayMount = disk(4096) !== undefined;
if (!mayMount) console.warn('full disks are not tested: mounting a tmpfs takes root');

describe.each(IMPLEMENTATIONS)('LMDB, %s', (implementation) => {
  describe.runIf(mayMount)('on a full disk', () => {
    it('does not open, says so, and does once there is room', async () => {
      const path = disk(3 * 2 ** 20) as string;
      writeFileSync(join(path, 'filler'), Buffer.alloc(3 * 2 ** 20 - 10 * 1024));
      for (let round = 0; round < 3; round++) {
        await expect(openLmdb({ path: join(path, 'state'), implementation })).rejects.toMatchObject({
          code: 'capacity_exceeded',
          message: expect.stringMatching(/has \d+ bytes free, opening needs \d+; free some space/),
        });
      }
      rmSync(join(path, 'filler'));
      const backend = await openLmdb({ path: join(path, 'state'), implementation });
      await add(backend);
      await backend.close();
    });

    it('that fills up later refuses what grows, keeps what was there, and goes on once there is room', () => {
      const path = disk(4 * 2 ** 20) as string;
      const { lines, status, stderr } = run(
        `
        import { rmSync, writeFileSync } from 'node:fs';
        const [path, implementation] = args;
        writeFileSync(path + '/filler', Buffer.alloc(2 ** 21));
        const backend = await openLmdb({ path: path + '/state', implementation, mapSize: 2 ** 26 });
        let acknowledged = 0;
        let refused = 0;
        const codes = new Set();
        for (let i = 0; i < 2000 && refused < 20; i++) {
          const answer = await told(set(backend, 'key ' + i, 4000));
          if (answer === 'ok') acknowledged++;
          else { refused++; codes.add(answer); }
        }
        console.log([...codes].join(', '));
        let there = 0;
        for (let i = 0; i < 2000; i++) {
          const { variables } = backend.loadSync(record('key ' + i), NOW, DEFAULT_LIMITS);
          if (variables.get('v')?.value.length === 4000) there++;
        }
        console.log(there === acknowledged && there > 50 ? 'all there' : there + ' of ' + acknowledged);
        rmSync(path + '/filler');
        console.log(await told(set(backend, 'afterwards', 4000)));
        await backend.close();`,
        [path, implementation],
      );
      expect({ lines, status, stderr }).toEqual({
        lines: ['WafStateError capacity_exceeded', 'all there', 'ok'],
        status: 0,
        stderr: '',
      });
    });
  });

  it('without file descriptors does not crash nor open, says so, and does once there are some', () => {
    const { lines, status, stderr } = run(
      `
      import { closeSync, openSync } from 'node:fs';
      const [path, implementation] = args;
      const first = await openLmdb({ path, implementation });
      await add(first);
      await first.close();
      const taken = [];
      const take = () => { for (;;) { try { taken.push(openSync('/dev/null')); } catch { return; } } };
      for (const spare of [0, 8, 16, 40]) {
        take();
        for (let i = 0; i < spare; i++) closeSync(taken.pop());
        let backend;
        const answer = await told(openLmdb({ path, implementation }).then((opened) => (backend = opened)));
        if (backend !== undefined) await backend.close();
        console.log(answer);
      }
      for (const each of taken) closeSync(each);
      const backend = await openLmdb({ path, implementation });
      console.log('then', count(backend), await told(add(backend)));
      await backend.close();`,
      [fresh(), implementation],
      'ulimit -n 100;',
    );
    expect({ status, stderr, last: lines.at(-1) }).toEqual({ status: 0, stderr: '', last: 'then 1 ok' });
    const refused = 'WafStateError unavailable';
    expect(lines.slice(0, -1)).toEqual([refused, refused, refused, 'ok']);
  });

  it('clears the reader slots that killed processes left', async () => {
    const path = fresh();
    const maxReaders = 6;
    const backend = await openLmdb({ path, implementation, maxReaders });
    await add(backend);
    for (let round = 0; round < 3; round++) {
      const readers = await Promise.all(
        Array.from({ length: 2 }, () =>
          start(
            `
            const [path, implementation, maxReaders] = args;
            const backend = await openLmdb({ path, implementation, maxReaders: Number(maxReaders), readOnly: true });
            count(backend);
            console.log('ready');
            setInterval(() => count(backend), 1);`,
            [path, implementation, String(maxReaders)],
          ),
        ),
      );
      for (const { child } of readers) child.kill('SIGKILL');
      await Promise.all(readers.map(({ ended }) => ended));
    }
    const { lines, stderr } = run(
      `
      const [path, implementation, maxReaders] = args;
      const backend = await openLmdb({ path, implementation, maxReaders: Number(maxReaders), readOnly: true });
      console.log(count(backend));
      await backend.close();`,
      [path, implementation, String(maxReaders)],
    );
    expect({ lines, stderr }).toEqual({ lines: ['1'], stderr: '' });
    expect(counted(backend.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBe(1);
    await backend.close();
  });

  it('bounds its queue while another process holds up the writer, goes on reading, and recovers', async () => {
    const path = fresh();
    const backend = await openLmdb({
      path,
      implementation,
      durability: 'relaxed',
      queueRequests: 100,
      queueBytes: 65_536,
      writerTimeout: 50,
    });
    await add(backend);
    const { child, ended } = await start(
      `
      import { open } from 'lmdb';
      const gate = open({ path: args[0] + '/gate', noSubdir: false, maxReaders: 256, mapSize: 2 ** 20, overlappingSync: false });
      gate.transactionSync(() => {
        process.stdout.write('ready');
        process.kill(process.pid, 'SIGSTOP');
      });`,
      [path],
    );
    const settled = await Promise.all(
      Array.from({ length: 1000 }, () =>
        Promise.race([
          add(backend).then(
            () => 'ok',
            (error: { code: string }) => error.code,
          ),
          new Promise<'waits'>((resolve) => setTimeout(resolve, 500, 'waits')),
        ]),
      ),
    );
    const tally = (word: string): number => settled.filter((each) => each === word).length;
    expect({ waits: tally('waits'), full: tally('queue_full') }).toEqual({ waits: 100, full: 900 });
    expect(backend.stats()).toMatchObject({ queuedRequests: 100 });
    expect(backend.stats().queuedBytes).toBeLessThanOrEqual(65_536);
    expect(counted(backend.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBe(1);
    const now = NOW;
    await expect(
      backend.commit([], { now, limits: DEFAULT_LIMITS, deadline: now + 1_000_000n }),
    ).resolves.toEqual([]);
    child.kill('SIGCONT');
    await ended;
    while (backend.stats().queuedRequests > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await add(backend);
    expect(counted(backend.loadSync(RECORD, NOW, DEFAULT_LIMITS))).toBe(102);
    await backend.close();
  });
});

describe('keys without end', () => {
  it('leave memory bounded, and a client that comes again is not forgotten for them', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['scripts/key-flood.mjs', '--keys', '100000', '--bytes', String(2 ** 22)],
      { encoding: 'utf8', cwd: ROOT },
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^memory: 100000 keys by 2 threads .*; bounded$/m);
  });
});

describe.runIf(nativeStatus().loaded)('shared memory', () => {
  it('keeps to maxBytes however many keys come, and serves all the while', async () => {
    const maxBytes = 4 * 2 ** 20;
    const table = await openSharedMemory({ name: 'resources', maxBytes, cleanupInterval: 0 });
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 200_000; i++) {
      await add(table, { space: 1, applicationId: '', key: `client ${i}` } as never);
      if (i % 10_000 === 0) expect(table.stats().bytes).toBeLessThanOrEqual(maxBytes);
    }
    const { bytes, records, evicted } = table.stats();
    expect(bytes).toBeLessThanOrEqual(maxBytes);
    const gone = evicted.ended + evicted.seenOnce + evicted.leastRecentlyUsed + evicted.held;
    expect(records + gone).toBe(200_000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(maxBytes + 200 * 2 ** 20);
    await table.close();
  });
});
