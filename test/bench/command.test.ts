import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { Report } from '../../bench/report.js';

const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const output = mkdtempSync(join(tmpdir(), 'wafstate-bench-'));
afterAll(() => rmSync(output, { recursive: true }));

function bench(...args: string[]): string {
  return execFileSync(process.execPath, [COMMAND, 'bench', ...args], { encoding: 'utf8' });
}

describe('wafstate bench', () => {
  it('lists its cases', () => {
    expect(bench('--list')).toContain('durable_commits   Durable commits\n');
  });

  it('refuses a case that does not exist, and names those that do', () => {
    const { status, stderr } = spawnSync(process.execPath, [COMMAND, 'bench', '--only', 'speed'], {
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toContain("there is no case 'speed'; the cases are durable_commits");
  });

  it('runs a case and leaves three reports that agree, and nothing else', { timeout: 180_000 }, () => {
    const printed = JSON.parse(bench('--quick', '--only', 'hot_key', '--output', output, '--json')) as Report;
    const written = JSON.parse(readFileSync(join(output, 'report.json'), 'utf8')) as Report;
    expect(written).toEqual(printed);
    expect(written.skipped.filter(({ failed }) => failed === true)).toEqual([]);
    const [only] = written.cases;
    expect(only?.id).toBe('hot_key');
    const typescript = only?.results.filter(({ subject }) => subject === 'lmdb-typescript') ?? [];
    expect(typescript).toHaveLength(4);
    for (const { opsPerSecond } of typescript) expect(opsPerSecond?.median).toBeGreaterThan(0);
    const native = only?.results.some(({ subject }) => subject === 'lmdb-native');
    expect(written.environment.native === 'loaded').toBe(native);
    expect(written.ratios['hot_key'] !== null).toBe(native);
    expect(written.ratios['group_commit']).toBeNull();
    for (const file of ['report.md', 'report.html']) {
      expect(readFileSync(join(output, file), 'utf8')).toContain('Everyone on one key');
    }
    const left = readdirSync(output).filter(
      (name) => !/^(report\.(json|md|html)|limit-[0-9a-f]{12})$/.test(name),
    );
    expect(left).toEqual([]);
  });
});
