import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { nativeStatus } from 'wafstate';
import { json, wafstate } from '../cli/program.js';

const directory = fileURLToPath(new URL('./cases', import.meta.url));
const cases = readdirSync(directory).map((name) => join(directory, name));
const native = nativeStatus();
const engines = native.loaded ? ['memory', 'shared-memory', 'lmdb'] : ['memory', 'lmdb'];
if (!native.loaded) console.log(`shared memory is left out: ${native.reason}`);

const scratch = mkdtempSync(join(tmpdir(), 'wafstate-case-files-'));
afterAll(() => rmSync(scratch, { recursive: true }));

test.each(engines)('all cases hold on %s', (engine) => {
  const run = wafstate(['test', ...cases, '--engine', engine]);
  expect(run.stdout).toBe(`${cases.length} passed, 0 failed\n`);
  expect([cases.length, run.status]).toEqual([30, 0]);
});

const CASE = {
  name: 'a case',
  rules: ['SecAction "id:1,phase:1,initcol:ip=%{REMOTE_ADDR},setvar:ip.n=+1,msg:\'seen %{ip.n}\'"'],
  requests: [{ client_ip: '192.0.2.1', method: 'GET', uri: '/', http_version: '1.1', headers: {} }],
  expect: [{ request: 0, matched_rule_ids: [1], status: 200, message_contains: 'seen 1' }],
  records_after: [{ namespace: 'ip', key: '192.0.2.1', variable: 'n', value: '1' }],
};

function runOne(change: object) {
  const file = join(scratch, 'one.json');
  writeFileSync(file, JSON.stringify({ ...CASE, ...change }));
  return wafstate(['test', file]);
}

describe('a case that does not hold', () => {
  test('holds as it is', () => {
    expect(runOne({})).toMatchObject({ status: 0, stdout: '1 passed, 0 failed\n' });
  });

  test.each([
    [
      'a rule that did not match',
      { expect: [{ request: 0, matched_rule_ids: [2] }] },
      'rule 2 did not match (matched: 1)',
    ],
    ['a rule that matched', { expect: [{ request: 0, not_matched_rule_ids: [1] }] }, 'rule 1 matched'],
    ['another status', { expect: [{ request: 0, status: 403 }] }, 'status 200 instead of 403'],
    [
      'another message',
      { expect: [{ request: 0, message_contains: 'seen 2' }] },
      "no message contains 'seen 2'",
    ],
    ['another value', { records_after: [{ namespace: 'ip', variable: 'n', value: '2' }] }, 'holds no n = 2'],
    [
      'another key',
      { records_after: [{ namespace: 'ip', key: 'x', variable: 'n', value: '1' }] },
      'ip x holds no n',
    ],
    ['rules that load', { load_error: true }, 'and should not'],
    ['rules that do not load', { rules: ['SecNothing'] }, 'do not load'],
    ['an unknown field', { expected: [] }, "unknown field 'expected'"],
    [
      'an unknown field of a request',
      { requests: [{ ...CASE.requests[0], port: 1 }] },
      "unknown field 'port'",
    ],
    ['an unknown field of an expectation', { expect: [{ request: 0, ids: [] }] }, "unknown field 'ids'"],
    ['a request that is not there', { expect: [{ request: 1 }] }, 'about request 1, there are 1'],
    [
      'an unknown collection',
      { records_after: [{ namespace: 'tx', variable: 'n', value: '1' }] },
      'namespace tx',
    ],
    ['a field of the wrong type', { requests: {} }, 'is no list'],
  ])('%s', (_, change, message) => {
    const run = runOne(change);
    expect(run.stdout).toContain('FAILED ');
    expect(run.stdout).toContain(message);
    expect(run.stdout).toMatch(/\n0 passed, 1 failed\n$/);
    expect(run.status).toBe(1);
  });

  test('is told from others, also for programs', () => {
    const file = join(scratch, 'broken.json');
    writeFileSync(file, '{');
    const run = wafstate(['test', file, cases[0] as string, '--json']);
    expect(json(run)).toMatchObject({ passed: 1, failed: 1, cases: [{ file }, { failures: [] }] });
    expect(run.status).toBe(1);
  });
});

test('an unknown engine and a missing file are wrong command lines', () => {
  expect(wafstate(['test', cases[0] as string, '--engine', 'redis'])).toMatchObject({ status: 2 });
  expect(wafstate(['test'])).toMatchObject({ status: 2 });
});
