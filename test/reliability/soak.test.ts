import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { ROOT } from './program.js';

it('memory stays level over requests, on every engine', () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['scripts/soak.mjs', '--requests', '10000'],
    {
      encoding: 'utf8',
      cwd: ROOT,
    },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toMatch(/^memory: 10000 requests, .*, level$/m);
  expect(stdout).toMatch(/^typescript: 10000 requests, .*, level$/m);
}, 300_000);
