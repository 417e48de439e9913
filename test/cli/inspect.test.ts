import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Collections, type LmdbBackend, openLmdb } from 'wafstate';
import { openPackageEnvironment } from '../../src/backend/lmdb/lmdb-package.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { encodeKey } from '../../src/record/key.js';
import { json, wafstate } from './program.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-inspect-'));
const path = join(directory, 'state');
let backend: LmdbBackend;

/** The server that these commands stand beside: it stays open all the while. */
beforeAll(async () => {
  backend = await openLmdb({ path, cleanupInterval: 0 });
  const collections = new Collections({ backend });
  for (const [collection, key] of [
    ['ip', '203.0.113.9'],
    ['ip', '203.0.113.10'],
    ['ip', '198.51.100.1'],
    ['session', 'a\x1b[31m%é'],
  ] as const) {
    const tx = collections.begin();
    await tx.bind(collection, key);
    tx.add(collection, 'failures', 3);
    tx.set(collection, 'blocked', '1');
    tx.expire(collection, 'blocked', 3600);
    tx.set(collection, 'gone', '1');
    tx.expire(collection, 'gone', 0);
    await tx.processLogging();
    tx.close();
  }
});

afterAll(async () => {
  await backend.close();
  rmSync(directory, { recursive: true });
});

function run(...argv: string[]) {
  return wafstate([argv[0] as string, '--path', path, ...argv.slice(1)]);
}

const LATER = '2100-01-01T00:00:00Z';

describe('list', () => {
  it('shows the records in byte order, each key as it can be given back', () => {
    const { records, more } = json(run('list', '--json')) as { records: { key: string }[]; more: boolean };
    expect(records.map(({ key }) => key)).toEqual([
      '198.51.100.1',
      '203.0.113.10',
      '203.0.113.9',
      'a%1B[31m%25%C3%A9',
    ]);
    expect(more).toBe(false);
  });

  it('by collection, prefix and limit', () => {
    const keys = (...argv: string[]) =>
      (
        json(run('list', '--json', '--collection', 'ip', ...argv)) as { records: { key: string }[] }
      ).records.map(({ key }) => key);
    expect(keys('--prefix', '203.0.113.')).toEqual(['203.0.113.10', '203.0.113.9']);
    expect(keys('--limit', '1')).toEqual(['198.51.100.1']);
    expect(json(run('list', '--json', '--limit', '1'))['more']).toBe(true);
  });

  it('counts hidden variables with --all only', () => {
    const variables = (...argv: string[]) =>
      (
        json(run('list', '--json', '--collection', 'session', ...argv)) as {
          records: { variables: number }[];
        }
      ).records[0]?.variables;
    expect(variables()).toBe(2);
    expect(variables('--all')).toBe(3);
  });

  it('refuses a prefix without a collection', () => {
    expect(run('list', '--prefix', 'a').status).toBe(2);
  });
});

describe('get', () => {
  it('shows facts and variables', () => {
    expect(json(run('get', 'IP', '203.0.113.9', '--json'))).toMatchObject({
      collection: 'ip',
      found: true,
      updateCount: 1,
      variables: [
        { name: 'blocked', value: '1', expired: false },
        { name: 'failures', value: '3' },
      ],
    });
  });

  it('judges by --at', () => {
    const text = run('get', 'ip', '203.0.113.9', '--at', LATER).stdout;
    expect(text).toContain('failures');
    expect(text).not.toContain('blocked');
    expect(run('get', 'ip', '203.0.113.9', '--at', LATER, '--all').stdout).toMatch(/blocked +1 +expired/);
  });

  it('of a key with odd bytes', () => {
    expect(run('get', 'session', 'a%1B[31m%25%C3%A9').status).toBe(0);
  });

  it('of an absent record ends with status 1', () => {
    expect(run('get', 'ip', '192.0.2.1').status).toBe(1);
    expect(json(run('get', 'ip', '192.0.2.1', '--json'))['found']).toBe(false);
  });
});

describe('delete', () => {
  it('of a variable ends a block, and the server sees it at once', async () => {
    expect(run('delete', 'ip', '203.0.113.10', 'Blocked').status).toBe(0);
    const tx = new Collections({ backend }).begin();
    await tx.bind('ip', '203.0.113.10');
    expect(tx.get('ip', 'blocked')).toBeUndefined();
    expect(tx.get('ip', 'failures')).toBe('3');
    tx.close();
  });

  it('of a record removes it, once', () => {
    expect(run('delete', 'ip', '198.51.100.1').status).toBe(0);
    expect(run('delete', 'ip', '198.51.100.1').status).toBe(1);
    expect(run('get', 'ip', '198.51.100.1').status).toBe(1);
  });
});

describe('get and delete of a record under a digest', () => {
  it('find it by the secret in a file, and not without', async () => {
    const secret = Buffer.from('every byte of the file counts\n');
    const file = join(mkdtempSync(join(tmpdir(), 'wafstate-secret-')), 'state.secret');
    writeFileSync(file, secret, { mode: 0o600 });
    const collections = new Collections({ backend, keyDigest: { secret } });
    await collections.increment('user', 'alice', 'logins');
    expect(run('get', 'user', 'alice').status).toBe(1);
    const shown = run('get', 'user', 'alice', '--key-secret-file', file);
    expect(shown.status).toBe(0);
    expect(shown.stdout).toMatch(/logins +1/);
    expect(shown.stdout).not.toContain('alice');
    expect(run('delete', 'user', 'alice', '--key-secret-file', file).status).toBe(0);
    expect(run('get', 'user', 'alice', '--key-secret-file', file).status).toBe(1);
    const missing = run('get', 'user', 'alice', '--key-secret-file', `${file}.absent`);
    expect(missing).toMatchObject({ status: 3, stderr: expect.stringContaining('ENOENT') });
    writeFileSync(file, 'short');
    expect(run('get', 'user', 'alice', '--key-secret-file', file)).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('16 to 1024 bytes, got 5'),
    });
    rmSync(dirname(file), { recursive: true });
  });
});

describe('arguments that name no record', () => {
  const long = 'k'.repeat(1025);

  it.each([
    [['get', 'ip', ''], /KEY of 'wafstate get' is empty/],
    [['delete', 'ip', 'k', ''], /VARIABLE of 'wafstate delete' is empty/],
    [['get', 'ip', '%GG'], /KEY has a % that begins no byte, at character 1: .*% itself is %25/],
    [['get', 'ip', 'a%'], /KEY has a % that begins no byte, at character 2/],
    [['delete', 'ip', 'k', '%4'], /VARIABLE has a % that/],
    [['list', '--collection', 'ip', '--prefix', '%zz'], /--prefix has a % that/],
    [['get', 'ip', 'k', '--application', '%'], /--application has a % that/],
    [['get', 'ip', long], /KEY is 1025 bytes long, the most is 1024/],
    [['delete', 'ip', 'k', long], /VARIABLE is 1025 bytes long/],
    [['get', 'ip', 'k', '--application', long], /--application is 1025 bytes long, the most is 255/],
    [['get', 'cookie', 'k'], /a collection is one of ip/],
  ])('%j are a wrong command line', (argv, message) => {
    const refused = run(...argv);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(message);
  });

  it.each(['list', 'verify', 'export', 'import'])('and an empty path is one to %s', (command) => {
    const refused = wafstate([command, ...(command === 'import' ? ['x'] : []), '--path', '', '--json']);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('--path is the name of a directory');
  });
});

describe('delete of what is not there', () => {
  it('ends with status 1 and makes nothing', () => {
    expect(run('delete', 'ip', '192.0.2.77', 'blocked').status).toBe(1);
    expect(run('delete', 'ip', '203.0.113.9', 'absent').status).toBe(1);
    expect(run('list', '--prefix', '192.0.2.77', '--collection', 'ip').stdout).toContain('0 records');
    expect(json(run('get', 'ip', '203.0.113.9', '--json'))['updateCount']).toBe(1);
  });
});

describe('a replay whose log clock is corrupt', () => {
  const replayed = join(directory, 'replayed');
  const command = (...argv: string[]) => wafstate([argv[0] as string, '--path', replayed, ...argv.slice(1)]);

  beforeAll(async () => {
    expect(command('replay', '--requests', '2000')).toMatchObject({ status: 0 });
    const data = openPackageEnvironment(replayed, {
      mapSize: 2 ** 24,
      maxReaders: 256,
      mode: 0o600,
      relaxed: false,
    });
    const clock = { space: 4, applicationId: 'replay' as ByteString, key: 'log-clock' as ByteString };
    data.putSync(encodeKey(clock), Buffer.from('damaged'));
    await data.close();
  });

  it('asks for a time, and judges by none of its own', () => {
    for (const asks of [['list'], ['get', 'ip', '203.0.113.66'], ['cleanup']]) {
      const refused = command(...asks, '--json');
      expect(refused.status).toBe(3);
      expect(json(refused)).toMatchObject({
        error: { code: 'corrupt_data', message: expect.stringContaining('--at') },
      });
    }
    const at = ['--at', '2026-01-01T00:10:00Z'];
    expect(command('get', 'ip', '203.0.113.66', ...at).stdout).toContain('blocked');
  });

  it('is found by verify, and mended by delete', () => {
    expect(json(command('verify', '--json'))).toMatchObject({ corrupt: [{ key: 'log-clock' }] });
    expect(command('delete', 'global', 'log-clock', '--at', '2026-01-01T00:10:00Z').status).toBe(0);
    expect(command('verify').status).toBe(0);
  });
});

describe('verify, stats and cleanup', () => {
  it('verify reads everything', () => {
    const verified = run('verify', '--json');
    expect(verified.status).toBe(0);
    expect(json(verified)).toMatchObject({ corruptRecords: 0, corrupt: [] });
    expect(json(verified)['records']).toBeGreaterThan(0);
  });

  it('stats counts the records', () => {
    expect(json(run('stats', '--json'))).toMatchObject({
      durability: 'durable',
      records: json(run('verify', '--json'))['records'],
    });
    const { stdout } = run('stats');
    expect(stdout).toMatch(/mapSize +1,073,741,824/);
    // A revision is a name, the same wherever it is shown.
    expect(stdout).toMatch(/revision +\d{16}\n/);
  });

  it('cleanup frees what has ended, and only that', () => {
    const cleaned = json(run('cleanup', '--json', '--slice', '1'));
    expect(cleaned['variablesRemoved']).toBeGreaterThan(0);
    expect(json(run('cleanup', '--json'))).toMatchObject({ recordsRemoved: 0, variablesRemoved: 0 });
    expect(json(run('get', 'ip', '203.0.113.9', '--json', '--all'))['variables']).toHaveLength(2);
  });
});

describe('a directory that is none', () => {
  it.each(['list', 'stats', 'verify', 'cleanup'])(
    'is refused by %s with its name, and not made',
    (command) => {
      const absent = join(directory, 'absent');
      for (const attempt of [1, 2]) {
        const refused = wafstate([command, '--path', absent, '--json']);
        expect(refused.status, `attempt ${attempt}`).toBe(3);
        expect(refused.stderr).toContain(absent);
        expect(json(refused)).toHaveProperty('error.code');
      }
    },
  );
});

describe('the program', () => {
  it('teaches one command, asked either way', () => {
    expect(wafstate(['help', 'list'])).toEqual(wafstate(['list', '--help']));
  });

  it('teaches', () => {
    const help = wafstate(['--help']);
    expect(help.status).toBe(0);
    for (const command of ['replay', 'list', 'get', 'delete', 'stats', 'cleanup', 'verify']) {
      expect(help.stdout).toContain(`  ${command} `);
      expect(wafstate([command, '--help']).stdout).toContain(`wafstate ${command}`);
    }
  });

  it('refuses what it does not know', () => {
    expect(wafstate(['reply']).status).toBe(2);
    expect(wafstate(['get', 'ip']).status).toBe(2);
    expect(wafstate([]).status).toBe(2);
    expect(wafstate(['lst']).stderr).toContain("unknown command 'lst'; did you mean 'list'?");
    expect(wafstate(['help', 'lst']).status).toBe(2);
    expect(wafstate(['list', '--colection', 'ip']).stderr).toContain('did you mean --collection?');
  });

  it('tells its version', () => {
    expect(wafstate(['--version']).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
