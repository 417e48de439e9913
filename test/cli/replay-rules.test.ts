import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parseRequest } from '../../src/cli/access-log.js';
import { json, wafstate } from './program.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-replay-rules-'));
afterAll(() => rmSync(directory, { recursive: true }));

const LOGIN = fileURLToPath(new URL('../../examples/login/login.conf', import.meta.url));

function line(address: string, second: number, request: string, status: number, agent = 'Browser/1'): string {
  const at = new Date(Date.UTC(2026, 0, 1, 12, 0, second)).toISOString();
  return `${address} - - [01/Jan/2026:${at.slice(11, 19)} +0000] "${request}" ${status} 12 "-" "${agent}"`;
}

const LOG = [
  // Ten failures within a minute, then the right password.
  ...Array.from({ length: 10 }, (_, index) => line('192.0.2.1', index * 5, 'POST /login HTTP/1.1', 401)),
  line('192.0.2.1', 55, 'POST /login HTTP/1.1', 303),
  // Nine are forgiven.
  ...Array.from({ length: 9 }, (_, index) => line('192.0.2.2', index * 5, 'POST /login HTTP/1.1', 401)),
  line('192.0.2.2', 60, 'POST /login HTTP/1.1', 303),
  'not a line',
  line('192.0.2.3', 61, '\\x16\\x03', 400),
];

function replay(more: readonly string[], log = LOG) {
  return wafstate(['replay', '--log', '-', ...more], { input: Buffer.from(`${log.join('\n')}\n`, 'latin1') });
}

describe('a replay by rules', () => {
  it.each([
    ['memory', []],
    ['lmdb', ['--path', join(directory, 'state')]],
  ])('on %s tells which rules matched, and whom they refused', (engine, path) => {
    const run = replay(['--rules', LOGIN, '--engine', engine, ...path, '--json']);
    expect(run.stderr).toBe('');
    expect(json(run)).toMatchObject({
      lines: 23,
      malformed: 2,
      transactions: 21,
      rules: [
        { id: 1002, matched: 1, refused: 1, message: 'login blocked', first: '2026-01-01T12:00:55.000Z' },
        {
          id: 1005,
          matched: 1,
          refused: 0,
          message: 'too many failed logins',
          first: '2026-01-01T12:00:45.000Z',
        },
      ],
      refused: [{ address: '192.0.2.1', requests: 1 }],
      engine,
    });
  });

  it('goes on from the state of an earlier one', () => {
    const path = ['--path', join(directory, 'continued')];
    replay(['--rules', LOGIN, ...path]);
    const later = [
      line('192.0.2.1', 3600, 'GET /login HTTP/1.1', 200),
      line('192.0.2.1', 3646, 'GET /login HTTP/1.1', 200),
    ];
    expect(json(replay(['--rules', LOGIN, ...path, '--json'], later))).toMatchObject({
      transactions: 2,
      refused: [{ address: '192.0.2.1', requests: 1, last: '2026-01-01T13:00:00.000Z' }],
    });
    const older = replay(
      ['--rules', LOGIN, ...path, '--json'],
      [line('192.0.2.1', 0, 'GET / HTTP/1.1', 200)],
    );
    expect(older.status).toBe(3);
    expect(json(older)).toMatchObject({ error: { code: 'log_clock' } });
  });

  it('tells people, and shows sample traffic without a log', () => {
    const run = replay(['--rules', LOGIN, '--engine', 'memory']);
    for (const part of ['Judged 23 lines, 2 of them malformed', '1002', 'login blocked', '192.0.2.1']) {
      expect(run.stdout).toContain(part);
    }
    const sample = wafstate([
      'replay',
      '--rules',
      LOGIN,
      '--engine',
      'memory',
      '--requests',
      '2000',
      '--json',
    ]);
    expect(json(sample)).toMatchObject({ malformed: 0, rules: [], refused: [] });
  });

  it('shows rules the request line, User-Agent and Referer, without their escapes', () => {
    const rules = join(directory, 'seen.conf');
    writeFileSync(
      rules,
      'SecRule REQUEST_HEADERS:User-Agent "@streq a\\"b" "id:1,phase:1,deny"\nSecRule ARGS:q "@streq x y" "id:2,phase:2,deny"\n',
    );
    const log = [
      line('192.0.2.1', 0, 'GET /?q=x%20y HTTP/1.1', 200),
      line('192.0.2.2', 1, 'GET / HTTP/1.1', 200, 'a\\"b'),
      line('192.0.2.3', 2, 'GET / HTTP/1.1', 200, 'a\\x22b'),
      line('192.0.2.4', 3, 'GET /?q=z HTTP/1.1', 200),
    ];
    const found = json(replay(['--rules', rules, '--engine', 'memory', '--json'], log))['refused'];
    expect((found as { address: string }[]).map(({ address }) => address)).toEqual([
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.3',
    ]);
  });

  it('refuses what means nothing beside rules, and rules that do not load', () => {
    expect(replay(['--rules', LOGIN, '--limit', '3']).status).toBe(2);
    expect(replay(['--rules', 'nowhere.conf']).status).toBe(3);
  });
});

describe('the request of a line', () => {
  it.each([
    ['of the common format', '192.0.2.1 - - [01/Jan/2026:12:00:00 +0000] "GET /a HTTP/1.0" 200 -', '/a'],
    [
      'with a quote in its target',
      '192.0.2.1 - - [01/Jan/2026:12:00:00 +0000] "GET /\\" HTTP/1.0" 200 1',
      '/"',
    ],
    ['without a request', '192.0.2.1 - - [01/Jan/2026:12:00:00 +0000] "-" 408 0', undefined],
    ['of another protocol', '192.0.2.1 - - [01/Jan/2026:12:00:00 +0000] "GET /" 400 0', undefined],
  ])('%s', (_which, text, uri) => {
    expect(parseRequest(text)?.uri).toBe(uri);
  });

  it('is found in linear time', () => {
    const evil = `192.0.2.1 - - [01/Jan/2026:12:00:00 +0000] "GET /${'\\"'.repeat(30_000)}`;
    expect(parseRequest(evil)).toBeUndefined();
  });
});
