import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeStatus } from 'wafstate';
import { independentCount } from '../../scripts/independent-count.js';
import { sampleTraffic } from '../../src/cli/sample-traffic.js';
import { json, MAIN, wafstate } from './program.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-replay-'));
afterAll(() => rmSync(directory, { recursive: true }));

const RULE = { limit: 30, window: 300, block: 3600 };
const START = 1_431_857_103_000_000_000n;

let directories = 0;
function freshPath(): string {
  return join(directory, `state-${++directories}`);
}

/** Sample traffic as a log of the combined format: disordered by up to a minute, as servers write it, with damaged lines in it. */
function writeLog(
  name: string,
  options: { seed: number; start: bigint; requests: number },
): { path: string; bytes: Buffer } {
  const lines = sampleTraffic(options).map(({ address, time }, index) => {
    const date = new Date(Number(time / 1_000_000n) - ((index * 7919) % 60) * 1000);
    const [, , month] = date.toUTCString().split(' ');
    const day = String(date.getUTCDate()).padStart(2, '0');
    const stamp = `${day}/${month}/${date.getUTCFullYear()}:${date.toISOString().slice(11, 19)} +0000`;
    return index % 1000 === 999
      ? 'not a line of a log'
      : `${address} - - [${stamp}] "GET /${index} HTTP/1.1" 200 12 "-" "probe"`;
  });
  const bytes = gzipSync(`${lines.join('\n')}\n`);
  const path = join(directory, name);
  writeFileSync(path, bytes);
  return { path, bytes };
}

const first = writeLog('first.log.gz', { seed: 3, start: START, requests: 4000 });
const native = nativeStatus().loaded;

describe('a replay', () => {
  const expected = independentCount(first.bytes, RULE);

  it('has attackers to find', () => {
    expect(expected.blocked.length).toBeGreaterThanOrEqual(4);
    expect(expected.malformed).toBeGreaterThanOrEqual(4);
  });

  const engines: [engine: string, native: string][] = [
    ['lmdb', '0'],
    ['memory', '0'],
  ];
  if (native) engines.push(['lmdb', 'require'], ['shared-memory', 'require']);
  it.each(engines)(
    'on %s (WAFSTATE_NATIVE=%s) names who an independent count names',
    (engine, implementation) => {
      const run = wafstate(
        [
          ...['replay', '--json', '--log', first.path, '--engine', engine],
          ...(engine === 'lmdb' ? ['--path', freshPath()] : []),
        ],
        {
          native: implementation,
        },
      );
      expect(run.stderr).toBe('');
      expect(run.status).toBe(0);
      expect(json(run)).toEqual({
        ...expected,
        transactions: expected.lines - expected.malformed,
        continued: false,
        stillBlocked: 0,
        interrupted: false,
        engine,
        native: implementation === 'require',
        seconds: expect.any(Number),
      });
    },
  );

  it('by another rule names others', () => {
    const rule = { limit: 5, window: 20, block: 7 };
    const options = Object.entries(rule).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const run = wafstate(['replay', '--json', '--log', first.path, '--engine', 'memory', ...options]);
    expect(json(run)['blocked']).toEqual(independentCount(first.bytes, rule).blocked);
  });

  it('reads standard input', () => {
    const run = wafstate(['replay', '--json', '--log', '-', '--engine', 'memory'], { input: first.bytes });
    expect(json(run)['blocked']).toEqual(expected.blocked);
  });

  it('counts IPv6 clients by their prefix', () => {
    const stamp = '[17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1';
    const log = Array.from({ length: 31 }, (_, i) => `2001:db8::${i.toString(16)} - - ${stamp}`).join('\n');
    const blocked = (prefix: string) =>
      json(
        wafstate(['replay', '--json', '--log', '-', '--engine', 'memory', '--ipv6-prefix', prefix], {
          input: Buffer.from(log),
        }),
      )['blocked'];
    expect(blocked('128')).toEqual([]);
    expect(blocked('64')).toMatchObject([{ address: '2001:db8::/64', requests: 31 }]);
  });

  it('tells people who, when and why, and who talks most', () => {
    const run = wafstate(['replay', '--log', first.path, '--path', freshPath()]);
    expect(run.status).toBe(0);
    for (const part of [
      'more than 30 requests within 300 s',
      '203.0.113.66',
      'Top talkers',
      'transactions a second',
    ]) {
      expect(run.stdout).toContain(part);
    }
  });

  it.each([
    ['JSON', Buffer.from('{"time": "now", "ip": "203.0.113.9"}\n{}\n')],
    [
      'UTF-16',
      Buffer.from('203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1\n', 'utf16le'),
    ],
    ['bytes of any kind', Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 7919) % 251))],
  ])('of %s, no line of which is one of a log, says what a log is and ends with status 1', (_, input) => {
    const run = wafstate(['replay', '--json', '--log', '-', '--engine', 'memory'], { input });
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(
      /^wafstate: no line of standard input is in the common or combined log format, as .*\n$/,
    );
    expect(json(run)).toMatchObject({ transactions: 0, blocked: [] });
  });

  it('of an empty log finds nobody', () => {
    const run = wafstate(['replay', '--json', '--log', '-', '--path', freshPath()], {
      input: Buffer.alloc(0),
    });
    expect(json(run)).toMatchObject({ lines: 0, transactions: 0, blocked: [] });
  });

  it('without a log makes sample traffic, the same for the same seed', () => {
    const runs = [1, 2].map(() => json(wafstate(['replay', '--json', '--engine', 'memory', '--seed', '5'])));
    const [one, two] = runs.map((run) => run['blocked'] as unknown[]);
    expect(one).toEqual(two);
    expect(one?.length).toBeGreaterThanOrEqual(4);
  });
});

describe('a second run', () => {
  it('goes on where the first stopped: together they are one run', () => {
    const second = writeLog('second.log.gz', { seed: 4, start: START + 1_200_000_000_000n, requests: 4000 });
    const path = freshPath();
    const runs = [first, second].map((log) =>
      json(wafstate(['replay', '--json', '--log', log.path, '--path', path])),
    );
    const both = independentCount(Buffer.concat([gunzipSync(first.bytes), gunzipSync(second.bytes)]), RULE);
    expect(runs.flatMap((run) => run['blocked'])).toEqual(both.blocked);
  });

  it('of an older log is refused, with both times named, and changes nothing', () => {
    const path = freshPath();
    wafstate(['replay', '--log', first.path, '--path', path]);
    const before = wafstate(['list', '--path', path, '--json', '--all']).stdout;
    const run = wafstate(['replay', '--log', first.path, '--path', path]);
    expect(run.status).toBe(3);
    expect(run.stderr).toMatch(
      /begins at 2015-05-17T10:0\S+Z, but the state has already seen 2015-05-17T10:2\S+Z.*--again/,
    );
    expect(wafstate(['list', '--path', path, '--json', '--all']).stdout).toBe(before);
  });

  it('with --again starts fresh', () => {
    const path = freshPath();
    const args = ['replay', '--json', '--log', first.path, '--path', path];
    const one = json(wafstate(args));
    const again = json(wafstate([...args, '--again']));
    expect(again['blocked']).toEqual(one['blocked']);
  });

  it('of sample traffic goes on from the state, and meets the blocks', () => {
    const path = freshPath();
    wafstate(['replay', '--path', path, '--requests', '4000']);
    const run = wafstate(['replay', '--path', path, '--requests', '4000']);
    expect(run.status).toBe(0);
    expect(run.stdout).toMatch(/state of an earlier run: [1-9]\d* addresses/);
    expect(run.stdout).toContain(`npx wafstate list --path ${path}`);
    const expired = /[1-9]\d* of them with no variable left by then: they expired \(see --all\)/;
    expect(wafstate(['list', '--path', path]).stdout).toMatch(expired);
    expect(wafstate(['list', '--path', path, '--all']).stdout).not.toMatch(expired);
    const third = json(wafstate(['replay', '--json', '--path', path, '--requests', '4000']));
    expect(third).toMatchObject({ continued: true, interrupted: false });
    expect(third['stillBlocked']).toBeGreaterThan(0);
  });
});

describe('a directory of live traffic', () => {
  it('is refused by replay, also with --again', async () => {
    const { Collections, openLmdb } = await import('wafstate');
    const path = freshPath();
    const backend = await openLmdb({ path });
    const tx = new Collections({ backend }).begin();
    await tx.bind('ip', '203.0.113.9');
    tx.set('ip', 'blocked', '1');
    await tx.processLogging();
    tx.close();
    await backend.close();
    for (const again of [[], ['--again']]) {
      const run = wafstate(['replay', '--path', path, ...again]);
      expect(run.status).toBe(3);
      expect(run.stderr).toContain('a directory of its own');
    }
    expect(wafstate(['get', '--path', path, 'ip', '203.0.113.9']).stdout).toContain('blocked');
  });

  it('is told from a replay by any record, wherever it stands among those of the replay', async () => {
    const { Collections, openLmdb } = await import('wafstate');
    for (const [collection, applicationId] of [
      ['ip', 'a'],
      ['ip', 'zzzzzzz'],
      ['resource', ''],
    ] as const) {
      const path = freshPath();
      wafstate(['replay', '--log', first.path, '--path', path]);
      const backend = await openLmdb({ path });
      await new Collections({ backend, applicationId }).increment(collection, 'k', 'n');
      await backend.close();
      expect(wafstate(['replay', '--path', path, '--again']).stderr).toContain('a directory of its own');
      const kept = ['get', '--path', path, collection, 'k', '--application', applicationId];
      expect(wafstate(kept).status).toBe(0);
    }
  });
});

describe('a replay that is cut short', () => {
  const cut = join(directory, 'cut.log.gz');
  writeFileSync(cut, first.bytes.subarray(0, Math.floor(first.bytes.length / 2)));

  it('by a truncated log names it, and leaves state that the next run can go on from or start afresh', () => {
    const path = freshPath();
    const run = wafstate(['replay', '--json', '--log', cut, '--path', path]);
    expect(run.status).toBe(3);
    expect(json(run)).toMatchObject({
      error: { message: expect.stringContaining(`the log ${cut} cannot be`) },
    });
    expect(wafstate(['list', '--path', path]).stdout).toMatch(/[1-9]\d* records as of 2015-05-17/);
    const later = wafstate(['replay', '--log', first.path, '--path', path]);
    expect(later.stderr + later.stdout).toMatch(/already seen 2015|Went on from the state/);
    const again = json(wafstate(['replay', '--json', '--log', first.path, '--path', path, '--again']));
    expect(again['blocked']).toEqual(independentCount(first.bytes, RULE).blocked);
  });

  it('by an interrupt, though no line comes, reports what was judged and ends as the signal ends', async () => {
    const path = freshPath();
    const child = spawn(process.execPath, [MAIN, 'replay', '--json', '--log', '-', '--path', path]);
    const ended = once(child, 'exit');
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    const stamp = '[17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1';
    child.stdin.write(Array.from({ length: 40 }, () => `203.0.113.9 - - ${stamp}\n`).join(''));
    const blocked = () => wafstate(['get', '--path', path, 'ip', '203.0.113.9']).stdout.includes('blocked');
    while (!blocked() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill('SIGINT');
    expect(await ended).toEqual([null, 'SIGINT']);
    expect(JSON.parse(stdout)).toMatchObject({
      interrupted: true,
      lines: 40,
      blocked: [{ address: '203.0.113.9', requests: 31 }],
    });
    child.stdin.destroy();
  });

  it('with --again and a log that is not there, costs nothing of the state', () => {
    const path = freshPath();
    wafstate(['replay', '--log', first.path, '--path', path]);
    const before = wafstate(['list', '--path', path, '--json', '--all']).stdout;
    expect(wafstate(['replay', '--log', '/nonexistent/log', '--path', path, '--again']).status).toBe(3);
    expect(wafstate(['list', '--path', path, '--json', '--all']).stdout).toBe(before);
  });
});

describe('a replay that cannot be', () => {
  it.each([
    [['--log', '/nonexistent/log'], 3, 'ENOENT'],
    [['--limit', '0'], 2, '--limit is an integer from 1'],
    [['--engine', 'redis'], 2, 'lmdb, memory, shared-memory'],
    [['--engine', 'memory', '--again'], 2, '--again'],
    [['--engine', 'memory'], 2, '--path is for the lmdb engine'],
    [['--limit', '-1'], 2, "--limit is an integer from 1 to 9007199254740991, got '-1'"],
    [['extra'], 2, 'no arguments'],
  ])('%j ends with status %d and says %s', (argv, status, message) => {
    const run = wafstate(['replay', '--path', freshPath(), ...argv]);
    expect(run.status).toBe(status);
    expect(run.stderr).toContain(message);
    expect(run.stdout).toBe('');
  });

  it('says so in JSON too', () => {
    const run = wafstate(['replay', '--json', '--limit', '0']);
    expect(json(run)).toMatchObject({ error: { code: 'usage' } });
  });
});
