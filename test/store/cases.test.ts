import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { readStoreCases, STORE_SUBJECTS, StoreCases, type StoreSubject } from 'wafstate/testing';

const directory = fileURLToPath(new URL('cases/', import.meta.url));
const cases = readdirSync(directory).flatMap((file) => readStoreCases(`${directory}/${file}`));

function casesFor(kind: string) {
  return cases.filter((each) => each.kind === 'any' || each.kind === kind);
}

describe.each([...STORE_SUBJECTS])('the cases on store.%s', (kind, create) => {
  const runner = new StoreCases(create());
  afterAll(() => runner.close());

  test.each(casesFor(kind))('$kind: $name', async (each) => {
    expect(await runner.run(each)).toBeUndefined();
  });
});

describe('npm run conformance:store', () => {
  const script = fileURLToPath(new URL('../../scripts/conformance-store.mjs', import.meta.url));
  const run = (args: string[], environment: Record<string, string> = {}) =>
    spawnSync(process.execPath, [script, ...args], {
      encoding: 'utf8',
      env: { ...process.env, ...environment },
    });

  test('counts, and runs LMDB without the addon too', () => {
    const { stdout, status } = run(['--cases', directory, '--kind', 'lmdb'], { WAFSTATE_NATIVE: '0' });
    expect(stdout.trim().split('\n').at(-1)).toBe(`${casesFor('lmdb').length} passed, 0 failed`);
    expect(status).toBe(0);
  });

  test('names the kinds it knows', () => {
    const { stderr, status } = run(['--cases', directory, '--kind', 'etcd']);
    expect(stderr).toContain("unknown kind 'etcd'; the kinds are memory|lmdb");
    expect(status).toBe(2);
  });
});

describe('the runner', () => {
  const runner = new StoreCases((STORE_SUBJECTS.get('memory') as () => StoreSubject)());
  afterAll(() => runner.close());
  const fails = (steps: object[]) =>
    runner.run({
      kind: 'any',
      name: 'x',
      steps: steps.map((step) => ({ args: {}, expect: {}, save: undefined, op: '', ...step })),
    });

  test('sees what is not as expected', async () => {
    expect(await fails([{ op: 'get', args: { key: 'a' }, expect: { value: 1 } }])).toContain('not_found');
    expect(await fails([{ op: 'has', args: { key: 'a' }, expect: { value: true } }])).toContain(
      'must be true',
    );
    expect(await fails([{ op: 'has', args: { key: 'a' }, expect: { error: 'INVALID' } }])).toContain(
      'must be refused',
    );
    expect(await fails([{ op: 'has', args: { key: '' }, expect: { error: 'NOT_FOUND' } }])).toContain(
      'the error.error',
    );
    expect(await fails([{ op: 'list', expect: { keys: ['a'] } }])).toContain('result.keys');
    expect(await fails([{ op: 'list', expect: { misspelt: true } }])).toContain('result.misspelt');
    await expect(fails([{ op: 'misspelt' }])).rejects.toThrow("there is no op 'misspelt'");
  });
});
