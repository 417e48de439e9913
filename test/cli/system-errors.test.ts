import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, MAIN, type Run, wafstate } from './program.js';

// What the operating system refuses, for every command that meets it: status 3, a code for programs, and one line for people.

const directory = mkdtempSync(join(tmpdir(), 'wafstate-system-'));
afterAll(() => rmSync(directory, { recursive: true }));

const state = join(directory, 'state');
const file = join(directory, 'a file');
const empty = join(directory, 'empty');
const absent = join(directory, 'absent');

beforeAll(() => {
  chmodSync(directory, 0o755);
  writeFileSync(file, 'precious');
  mkdirSync(empty);
  expect(wafstate(['replay', '--path', state, '--requests', '2000'])).toMatchObject({ status: 0 });
});

/** Status 3 and one line, in which there is no stack and no name that nobody gave. */
function expectRefusal(run: Run, message: RegExp): void {
  expect(`${run.status} ${run.stderr}`).toMatch(/^3 wafstate: [^\n]*\n$/);
  expect(run.stderr).toMatch(message);
  expect(run.stderr).not.toMatch(/\.partial|node:fs/);
}

const COMMANDS: readonly string[][] = [
  ['list'],
  ['get', 'ip', '203.0.113.66'],
  ['delete', 'ip', '203.0.113.66'],
  ['stats'],
  ['cleanup'],
  ['verify'],
  ['export', '--output', join(directory, 'out.txt')],
  ['backup', join(directory, 'copy')],
];

describe.each(COMMANDS)('%s', (...command) => {
  it.each([
    ['nothing', absent, 'not_found', /there is no state at .*absent; check --path/],
    ['a directory without a state', empty, 'not_found', /there is no state at .*empty; check --path/],
    ['a file', file, 'invalid_option', /a file is no directory.*check --path/],
    ['a path through a file', join(file, 'x'), 'not_found', /there is no state at .*check --path/],
  ])('on %s', (_, path, code, message) => {
    const run = wafstate([...command, '--path', path, '--json']);
    expectRefusal(run, message);
    expect(json(run)).toEqual({ error: { code, message: expect.stringMatching(message) } });
    expect(existsSync(absent)).toBe(false);
    expect(readdirSync(empty)).toEqual([]);
  });

  it('on a directory of another user', () => {
    const closed = join(directory, `closed ${command[0]}`);
    mkdirSync(closed, { mode: 0o000 });
    // To the superuser everything is permitted, so another asks.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const run = spawnSync(process.execPath, [MAIN, ...command, '--json', '--path', join(closed, 'state')], {
      ...user,
      encoding: 'utf8',
    });
    expectRefusal(run, /cannot look at .*: permission is denied \(EACCES\); grant it/);
    expect(json(run)).toMatchObject({ error: { code: 'permission_denied' } });
    chmodSync(closed, 0o700);
  });
});

describe('a source of an import', () => {
  it.each([
    ['that is not there', absent, 'not_found', /cannot read .*absent: there is no such file/],
    ['that is a directory without a state', empty, 'not_found', /there is no state at .*; check SOURCE/],
    ['below a file', join(file, 'x'), 'invalid_option', /a part of the path is no directory/],
  ])('%s', (_, source, code, message) => {
    const run = wafstate(['import', source, '--path', absent, '--json']);
    expectRefusal(run, message);
    expect(json(run)).toMatchObject({ error: { code } });
    expect(existsSync(absent)).toBe(false);
  });
});

describe('a place to write to', () => {
  it.each([
    [['export', '--output', join(absent, 'x')], 'not_found', /cannot write .*absent.x: there is no such/],
    [['export', '--output', file], 'already_exists', /an export overwrites nothing; choose another name/],
    [['export', '--output', empty], 'already_exists', /an export overwrites nothing; choose another name/],
    [['export', '--output', join(file, 'x')], 'invalid_option', /cannot write .*a part of the path is no/],
    [['backup', join(absent, 'x')], 'not_found', /cannot write the backup .*absent.x: there is no such/],
    [['backup', join(file, 'x')], 'invalid_option', /cannot write the backup .*is no directory/],
    [['backup', empty], 'already_exists', /a backup overwrites nothing; choose another name/],
    [['backup', join(state, 'inner')], 'invalid_option', /lies in .*state, which is to be copied/],
  ])('%j is refused as %s', (command, code, message) => {
    const run = wafstate([...command, '--path', state, '--json']);
    expectRefusal(run, message);
    expect(json(run)).toMatchObject({ error: { code } });
    expect(readFileSync(file, 'utf8')).toBe('precious');
    expect(readdirSync(empty)).toEqual([]);
    expect(readdirSync(directory).filter((name) => name.includes('partial'))).toEqual([]);
  });
});

describe.each([
  ['list', '--json'],
  ['list'],
  ['stats'],
  ['verify'],
  ['get', 'ip', '203.0.113.66'],
  ['export'],
  ['replay', '--json', '--engine', 'memory'],
  ['--help'],
  ['--version'],
])('%s %s %s %s', (...given) => {
  const command = given.filter((word) => word !== undefined);
  const path = command[0]?.startsWith('--') || command[0] === 'replay' ? [] : ['--path', state];

  it.runIf(process.platform === 'linux')('to a full device ends with status 3 and says so', () => {
    const run = into('/dev/full', [...command, ...path]);
    expectRefusal(run, /cannot write to standard output: the disk is full \(ENOSPC\); free some space/);
  });
});

describe('standard output', () => {
  it('into a file that takes only a part is not taken for done', () => {
    const out = join(directory, 'short');
    // As on a disk that fills up, the last write that fits is a short one; none comes after it that could fail.
    const run = into(out, ['list', '--json', '--path', state], 'ulimit -f 1; ');
    // In blocks of 512 or 1024 bytes, as the shell has it.
    expect([512, 1024]).toContain(statSync(out).size);
    expectRefusal(run, /cannot write to standard output: the file may not grow so large \(EFBIG\)/);
  });

  it('holds the same in a file as in a pipe', () => {
    const out = join(directory, 'whole');
    const command = ['list', '--json', '--all', '--path', state];
    expect(into(out, command)).toMatchObject({ status: 0, stderr: '' });
    expect(readFileSync(out, 'utf8')).toBe(wafstate(command).stdout);
  });

  it('that is closed early, as head does, is no failure', async () => {
    const child = spawn(process.execPath, [MAIN, 'export', '--path', state]);
    child.stdout.destroy();
    let stderr = '';
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(stderr).not.toMatch(/EPIPE|cannot/);
  });
});

function program(argv: readonly string[]): string[] {
  return [process.execPath, MAIN, ...argv];
}

function into(out: string, argv: readonly string[], before = ''): Run {
  const { status, stderr } = spawnSync('sh', ['-c', `${before}exec "$@" > "$0"`, out, ...program(argv)], {
    encoding: 'utf8',
  });
  return { status, stdout: '', stderr };
}
