import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import {
  DEFAULT_LIMITS,
  type ErrorCode,
  type LmdbBackend,
  type LmdbOptions,
  openLmdb,
  WafStateError,
} from 'wafstate';
import { run } from '../../reliability/program.js';
import { scratchDirectory } from './directory.js';
import { IMPLEMENTATIONS } from './implementations.js';

const NOW = 4_000_000_000_000_000_000n;
const RECORD = { space: 1, applicationId: '', key: 'k' } as never;

/** The files of an environment with one record in it. */
async function makeEnvironment(path: string, options: Partial<LmdbOptions>): Promise<void> {
  const backend = await openLmdb({ path, mapSize: 2 ** 24, ...options });
  const value = 'v'.repeat(20_000);
  await backend.commit(
    [{ record: RECORD, expect: 'any', mutations: [{ type: 'set', name: 'a', value } as never] }],
    {
      now: NOW,
      limits: DEFAULT_LIMITS,
    },
  );
  await backend.close();
}

/** As LMDB 0.9 lays a meta page out: a header of 16 bytes, magic, version 1. */
function stockFile(): Buffer {
  const file = Buffer.alloc(8192);
  file.writeUInt32LE(0xbeefc0de, 16);
  file.writeUInt32LE(1, 20);
  return file;
}

describe.each(IMPLEMENTATIONS)('a path that %s LMDB must not see', (implementation) => {
  const directory = scratchDirectory();
  let count = 0;
  let opened: LmdbBackend | undefined;

  afterEach(async () => {
    await opened?.close();
    opened = undefined;
  });

  function fresh(): string {
    count++;
    return join(directory, `environment ${count}`);
  }

  async function refusal(options: LmdbOptions): Promise<WafStateError> {
    try {
      opened = await openLmdb({ mapSize: 2 ** 24, implementation, ...options });
    } catch (error) {
      if (error instanceof WafStateError) return error;
      throw error;
    }
    throw new Error('it was opened');
  }

  async function expectRefusal(options: LmdbOptions, code: ErrorCode, message: RegExp): Promise<void> {
    const error = await refusal(options);
    expect(`${error.code}: ${error.message}`).toMatch(new RegExp(`^${code}: openLmdb: .*${message.source}`));
  }

  it('is one whose parent is missing', async () => {
    const path = join(fresh(), 'state');
    await expectRefusal(
      { path },
      'not_found',
      /environment \d+, the parent of path, is no directory; create it first/,
    );
    expect(() => statSync(path)).toThrow();
  });

  it('is a file', async () => {
    const path = fresh();
    writeFileSync(path, 'precious');
    await expectRefusal({ path }, 'invalid_option', /is a file, path must name a directory/);
    expect(readFileSync(path, 'utf8')).toBe('precious');
  });

  it('is below a file', async () => {
    const path = fresh();
    writeFileSync(path, 'precious');
    await expectRefusal({ path: join(path, 'state') }, 'not_found', /is no directory/);
  });

  it('is a symbolic link that leads nowhere', async () => {
    const path = fresh();
    symlinkSync(join(directory, 'nowhere'), path);
    await expectRefusal({ path }, 'not_found', /leads nowhere/);
  });

  it('is absent, with create: false or readOnly', async () => {
    const path = fresh();
    await expectRefusal({ path, create: false }, 'not_found', /create: true/);
    await expectRefusal({ path, readOnly: true }, 'not_found', /create: true/);
    expect(() => statSync(path)).toThrow();
  });

  it('is an empty directory, with create: false', async () => {
    const path = fresh();
    mkdirSync(path);
    await expectRefusal({ path, create: false }, 'not_found', /holds no environment/);
  });

  it('holds a file of stock LMDB', async () => {
    const path = fresh();
    mkdirSync(path);
    writeFileSync(join(path, 'data.mdb'), stockFile());
    await expectRefusal({ path }, 'corrupt_data', /was written by stock LMDB \(data version 1\)/);
    expect(readFileSync(join(path, 'data.mdb'))).toEqual(stockFile());
  });

  it('holds what the lmdb package made with its own options', () => {
    const path = fresh();
    const { lines, stderr } = run(
      `
      import { open } from 'lmdb';
      const [path] = args;
      const theirs = open({ path });
      await theirs.put('key', 'value');
      await theirs.close();
      await openLmdb({ path }).catch(({ code, message }) => console.log(code, message.slice(message.indexOf('made by'))));`,
      [path],
    );
    expect({ lines, stderr }).toEqual({
      lines: [
        'corrupt_data made by another program, with overlappingSync of the lmdb package; choose another path',
      ],
      stderr: '',
    });
  });

  it('holds a file of random bytes, or one that ends at once', async () => {
    const path = fresh();
    mkdirSync(path);
    writeFileSync(join(path, 'data.mdb'), Buffer.alloc(100_000, 'random bytes '));
    await expectRefusal({ path }, 'corrupt_data', /is no LMDB file/);
    writeFileSync(join(path, 'data.mdb'), 'x');
    await expectRefusal({ path }, 'corrupt_data', /ends within its first two pages/);
  });

  it('holds a truncated file', async () => {
    const path = fresh();
    await makeEnvironment(path, { implementation });
    const file = join(path, 'data.mdb');
    const { size } = statSync(file);
    truncateSync(file, size - 4096);
    await expectRefusal(
      { path },
      'corrupt_data',
      /it is cut short: \d+ bytes are there, \d+ are in use; restore it/,
    );
    truncateSync(file, 4200);
    await expectRefusal({ path }, 'corrupt_data', /ends within its first two pages/);
  });

  it('holds a file with a foreign page size or version', async () => {
    const path = fresh();
    await makeEnvironment(path, { implementation });
    const file = join(path, 'data.mdb');
    const patch = (position: number, bytes: number[]): void => {
      const descriptor = openSync(file, 'r+');
      writeSync(descriptor, Buffer.from(bytes), 0, bytes.length, position);
      closeSync(descriptor);
    };
    patch(48, [1, 16, 0, 0]);
    await expectRefusal({ path }, 'corrupt_data', /its page size is 4097/);
    patch(48, [0, 16, 0, 0]);
    patch(28, [9, 0]);
    await expectRefusal({ path }, 'corrupt_data', /its data version is 9/);
  });

  it.each(['data.mdb', 'lock.mdb', 'gate/data.mdb', 'gate/lock.mdb'])(
    'has something else for %s',
    async (name) => {
      const path = fresh();
      await makeEnvironment(path, { implementation });
      const file = join(path, name);
      rmSync(file);
      mkdirSync(file);
      await expectRefusal({ path }, 'invalid_option', /is a directory, it must be a regular file/);
      rmSync(file, { recursive: true });
      execFileSync('mkfifo', [file]);
      await expectRefusal({ path }, 'invalid_option', /is a fifo, it must be a regular file/);
      rmSync(file);
      symlinkSync('/etc/passwd', file);
      await expectRefusal({ path }, 'invalid_option', /is a symbolic link, it must be a regular file/);
    },
  );

  it('has a file for the gate', async () => {
    const path = fresh();
    mkdirSync(path);
    writeFileSync(join(path, 'gate'), '');
    await expectRefusal({ path }, 'invalid_option', /gate is a file, a directory is needed there/);
  });

  it('was made with the other durability', async () => {
    const path = fresh();
    await makeEnvironment(path, { implementation, durability: 'relaxed' });
    await expectRefusal({ path }, 'invalid_option', /durability/);
    const backend = await openLmdb({ path, implementation, durability: 'relaxed' });
    expect(backend.loadSync(RECORD, NOW, DEFAULT_LIMITS).revision).toBeGreaterThan(0);
    await backend.close();
  });

  it('has another format, or no note by wafstate', async () => {
    const path = fresh();
    await makeEnvironment(path, { implementation });
    const file = join(path, 'data.mdb');
    const rewrite = (from: string, to: string): void => {
      // Latin-1 keeps every byte as it is.
      const bytes = readFileSync(file, 'latin1').replaceAll(from, to);
      writeFileSync(file, bytes, 'latin1');
    };
    rewrite('\0\x01WE\x01\x01', '\0\x01WE\x07\x01');
    for (const readOnly of [false, true]) {
      await expectRefusal(
        { path, readOnly },
        'corrupt_data',
        /the environment has format 7, this wafstate reads format 1; use the version that made it/,
      );
    }
    rewrite('\0\x01WE\x07\x01', '\0\x01XX\x01\x01');
    await expectRefusal({ path }, 'corrupt_data', /has no note by wafstate: it belongs to another program/);
    rewrite('\0\x01XX\x01\x01', '\0\x01WE\x01\x01');
    opened = await openLmdb({ path, mapSize: 2 ** 24, implementation });
    expect(opened.loadSync(RECORD, NOW, DEFAULT_LIMITS).revision).toBeGreaterThan(0);
  });

  it('is open in this process in another way', async () => {
    const path = fresh();
    opened = await openLmdb({ path, mapSize: 2 ** 24, implementation });
    for (const other of [{ mapSize: 2 ** 25 }, { maxReaders: 7 }, { readOnly: true }]) {
      await expect(openLmdb({ path, mapSize: 2 ** 24, implementation, ...other })).rejects.toMatchObject({
        code: 'invalid_option',
        message: expect.stringContaining(`open with ${Object.keys(other)[0]}`),
      });
    }
  });

  it('is not permitted', () => {
    const path = fresh();
    mkdirSync(path, { mode: 0o755 });
    chmodSync(directory, 0o755);
    const script = `
      import { openLmdb } from ${JSON.stringify(fileURLToPath(new URL('../../../dist/index.js', import.meta.url)))};
      try { await openLmdb({ path: process.argv[1], implementation: '${implementation}' }); }
      catch (error) { console.log(error.code + ': ' + error.message); }`;
    // To the superuser everything is permitted, so another asks.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    if (user.uid === undefined) chmodSync(path, 0o500);
    const run = spawnSync(process.execPath, ['--input-type=module', '-e', script, path], {
      ...user,
      encoding: 'utf8',
    });
    expect(run.stdout || run.stderr).toMatch(
      /^permission_denied: openLmdb: cannot read and write in .*; grant it/,
    );
  });

  it('opens what is sound: a directory behind a link, an empty data.mdb, lost lock files', async () => {
    const path = fresh();
    await makeEnvironment(path, { implementation });
    rmSync(join(path, 'gate'), { recursive: true });
    rmSync(join(path, 'lock.mdb'));
    const link = fresh();
    symlinkSync(path, link);
    opened = await openLmdb({ path: link, implementation });
    expect(opened.loadSync(RECORD, NOW, DEFAULT_LIMITS).revision).toBeGreaterThan(0);
    expect(statSync(join(path, 'lock.mdb')).mode & 0o777).toBe(0o600);
    expect(statSync(join(path, 'data.mdb')).mode & 0o777).toBe(0o600);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    await opened.close();
    const empty = fresh();
    mkdirSync(empty);
    writeFileSync(join(empty, 'data.mdb'), '', { mode: 0o600 });
    opened = await openLmdb({ path: empty, implementation });
  });
});
