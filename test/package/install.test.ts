import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

// The install step of a clone: it builds the addon where it can and never fails.

const root = resolve(import.meta.dirname, '../..');
let clone: string;

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'wafstate-install-'));
  for (const entry of ['package.json', 'binding.gyp', 'native', 'scripts']) {
    cpSync(join(root, entry), join(clone, entry), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
});

afterEach(() => rmSync(clone, { recursive: true }));

function install(args: string[], environment: Record<string, string>) {
  const { WAFSTATE_NATIVE: _, ...inherited } = process.env;
  const run = spawnSync(process.execPath, ['scripts/build-addon.mjs', ...args], {
    cwd: clone,
    encoding: 'utf8',
    env: { ...inherited, ...environment },
  });
  return { status: run.status, lines: run.stdout.trim().split('\n') };
}

describe('the install step', () => {
  test('succeeds without a compiler and says what that means', () => {
    const { status, lines } = install(['--optional'], { CXX: join(clone, 'no-such-compiler') });
    expect(status).toBe(0);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/addon not built: a C\+\+20 compiler \(.*no-such-compiler\) was not found/);
    expect(lines[0]).toContain('runs in TypeScript');
  });

  test('succeeds when the compiler fails, names the log, and leaves no stale addon', () => {
    const release = join(clone, 'build', 'Release');
    mkdirSync(release, { recursive: true });
    writeFileSync(join(release, 'wafstate.node'), 'an addon of older sources');
    const { status, lines } = install(['--optional'], { CXX: 'false', CC: 'false' });
    expect(status).toBe(0);
    expect(lines[0]).toContain('node-gyp failed');
    expect(lines[0]).toContain(join('build', 'addon.log'));
    expect(existsSync(join(clone, 'build', 'addon.log'))).toBe(true);
    expect(existsSync(join(release, 'wafstate.node'))).toBe(false);
  });

  test('fails without --optional, for a build that was asked for', () => {
    expect(install([], { CXX: join(clone, 'no-such-compiler') }).status).toBe(1);
  });

  test('builds nothing with WAFSTATE_NATIVE=0', () => {
    const { status, lines } = install([], { WAFSTATE_NATIVE: '0' });
    expect(status).toBe(0);
    expect(lines[0]).toContain('not built, as WAFSTATE_NATIVE=0 asks');
    expect(existsSync(join(clone, 'build'))).toBe(false);
  });
});
