import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../scripts/hostile.mjs', import.meta.url));

describe('a sample of the damaged environments of `npm run hostile`', () => {
  it('neither crashes nor misleads a process that opens one', { timeout: 600_000 }, () => {
    const run = spawnSync(process.execPath, [SCRIPT, '--environments', '100', '--seed', '7'], {
      encoding: 'utf8',
    });
    const report = JSON.parse(run.stdout || `{"failed": ${JSON.stringify(run.stderr)}}`);
    expect(report).toMatchObject({ environments: 100, broken: 0, first: [] });
    expect(run.status).toBe(0);
  });
});
