import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { judgeGoals } from '../../bench/goals.js';
import { buildModsecurity, runModsecurity } from '../../bench/modsecurity/program.js';
import { RULES, ruledRequest } from '../../bench/subjects/ruled-request.js';
import { openMemory } from '../../src/backend/memory/memory.js';
import { Collections } from '../../src/collections/index.js';
import { loadRules } from '../../src/seclang/index.js';
import { reportCase, valued } from './fixture.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-rules-bench-'));
afterAll(() => rmSync(directory, { recursive: true }));

describe('the twenty rules of the benchmark', () => {
  it('are twenty, and every request counts in all four collections', async () => {
    const rules = loadRules(RULES);
    expect(rules.size).toBe(20);
    const backend = openMemory({ cleanupInterval: 0 });
    const request = ruledRequest(backend);
    for (let round = 0; round < 7; round++) await request('10.0.0.1');
    using tx = new Collections({ backend, ...rules.collectionOptions }).begin();
    tx.bindSync('ip', '10.0.0.1');
    tx.bindSync('global', 'all');
    tx.bindSync('user', 'alice');
    tx.bindSync('session', '0123456789abcdef0123456789abcdef');
    expect(tx.list('ip')).toEqual([
      ['failures', '7'],
      ['logins', '7'],
      ['posts', '7'],
      ['requests', '7'],
    ]);
    expect(tx.list('user')).toEqual([
      ['failures', '7'],
      ['logins', '7'],
    ]);
    expect(tx.list('global')).toEqual([['requests', '7']]);
    expect(tx.get('session', 'agent')).toContain('Mozilla');
    await backend.close();
  });

  const installed = existsSync('/usr/include/modsecurity/modsecurity.h');
  if (!installed)
    process.stdout.write('the rules do not run on libmodsecurity: libmodsecurity-dev is not installed\n');
  it.skipIf(!installed)('run on libmodsecurity, which counts as many', async () => {
    const program = buildModsecurity(directory);
    const { transactions, refused, state } = await runModsecurity(program, { keys: 5, milliseconds: 20 });
    expect(refused).toBe(0);
    expect(Number(state)).toBe(transactions + 5);
  });

  it('have a goal that is a figure and no ratio', () => {
    const judge = (figure: number) =>
      judgeGoals([reportCase('rules_main_thread', [valued('lmdb-native', '64 callers', figure)])]).find(
        ({ name }) => name === 'rules_main_thread',
      );
    expect(judge(60)).toMatchObject({ value: 60, met: true });
    expect(judge(61)).toMatchObject({ value: 61, met: false });
  });
});
