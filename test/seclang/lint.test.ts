import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { json, wafstate } from '../cli/program.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-lint-'));
afterAll(() => rmSync(directory, { recursive: true }));

const SOUND = `
SecAction "id:1,phase:1,nolog,initcol:ip=%{REMOTE_ADDR}"
SecAction "id:2,phase:1,nolog,setvar:ip.n=+1,expirevar:ip.n=60"
SecRule IP:n "@ge 10" "id:3,phase:1,deny,setvar:tx.blocked=1"
SecRule IP:n "@eq 1" "id:4,phase:1,pass,msg:'%{ip.n} and %{tx.blocked}'"`;

function lint(text: string, ...options: string[]) {
  const file = join(directory, 'rules.conf');
  writeFileSync(file, text);
  return wafstate(['lint', file, ...options]);
}

test('sound rules have no warning', () => {
  expect(lint(SOUND)).toMatchObject({ status: 0, stdout: '4 rules, 0 warnings\n' });
});

describe('warns once of', () => {
  test.each([
    [
      'a flag that never ends',
      'SecAction "id:9,setvar:ip.Flag=1"\nSecAction "id:10,setvar:ip.flag=1"',
      'ip.flag is set and never ends',
    ],
    ['expirevar for what is never set', 'SecAction "id:9,expirevar:ip.m=9"', 'ip.m is never set'],
    ['deprecatevar for what is never set', 'SecAction "id:9,deprecatevar:ip.m=1/9"', 'ip.m is never set'],
    ['a target that nothing binds', 'SecRule SESSION:a "x" "id:9"', 'session is used and never bound'],
    ['a macro that nothing binds', 'SecAction "id:9,setvar:tx.a=%{user.a}"', 'user is used and never bound'],
    ['a counter tested with @eq', 'SecRule IP:N "@eq 10" "id:9"', 'ip.n is counted and tested with @eq'],
    ['a number that is none', 'SecAction "id:9,setvar:tx.a=+1.5"', 'no whole number'],
    ['a jump to nowhere', 'SecAction "id:9,skipAfter:END"', "no marker 'END' follows"],
  ])('%s', (_, text, message) => {
    const run = lint(`${SOUND}\n${text}`);
    expect(run.stdout).toContain(message);
    expect(run.stdout).toMatch(/rules\.conf:6: .*; .*\n[56] rules, 1 warning\n$/);
    expect(run.status).toBe(1);
  });
});

test('what does not load ends with the error, or a warning', () => {
  const text = `${SOUND}\nSecRule REMOTE_ADDR "@rbl example.org" "id:9"`;
  expect(lint(text)).toMatchObject({ status: 3, stdout: '' });
  expect(json(lint(text, '--skip', '--json'))).toMatchObject({
    rules: 4,
    warnings: [{ line: 6, construct: '@rbl' }],
  });
});
