import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { json, wafstate } from './program.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-rules-'));
afterAll(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe('lint', () => {
  const rules = write(
    'unsupported.conf',
    'SecRule REQUEST_URI "@noSuchOperator x" "id:1,phase:1,pass"\nSecAction "id:2,phase:1,pass"\n',
  );

  it('of what is not supported names the option of the command line', () => {
    const run = wafstate(['lint', rules]);
    expect(run.status).toBe(3);
    expect(run.stderr).toMatch(
      /unsupported\.conf:1: there is no operator @noSuchOperator here; take the rule out, or give --skip, which leaves it out and warns\n$/,
    );
  });

  it('with that option says what was left out, and gives no advice that was taken', () => {
    const run = wafstate(['lint', rules, '--skip']);
    expect(run.status).toBe(1);
    expect(run.stdout).toMatch(
      /unsupported\.conf:1: there is no operator @noSuchOperator here; it is left out\n1 rule, 1 warning\n$/,
    );
    expect(run.stdout).not.toContain('unsupported:');
  });
});

describe('test', () => {
  const passing = write(
    'passing.json',
    JSON.stringify({
      name: 'passes',
      rules: ['SecAction "id:1,phase:1,pass"'],
      requests: [{ method: 'GET', uri: '/', headers: {} }],
      expect: [{ request: 0, matched_rule_ids: [1] }],
    }),
  );

  it('of a file that is not there cannot be done, and runs none', () => {
    const run = wafstate(['test', passing, join(directory, 'absent.json'), '--json']);
    expect(run.status).toBe(3);
    expect(json(run)).toMatchObject({
      error: { code: 'not_found', message: expect.stringMatching(/cannot read the case .*absent\.json/) },
    });
    expect(wafstate(['test', passing, directory])).toMatchObject({ status: 3, stdout: '' });
  });

  it('of a file that is no case has failed, and the others run', () => {
    const run = wafstate(['test', write('broken.json', '{'), passing]);
    expect(run.status).toBe(1);
    expect(run.stdout).toMatch(/^FAILED .*broken\.json: .*\n1 passed, 1 failed\n$/);
  });
});
