import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { type Backend, type Clock, openMemory } from 'wafstate';
import type { Guard, GuardEvent } from 'wafstate/guard';
import { ask, closeAfterwards, FORM, type Reply, serveHttp } from './servers.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/login/', import.meta.url));

interface Example {
  createLogin(options: {
    backend: Backend;
    password: string;
    clock: Clock;
    log: (event: GuardEvent) => void;
  }): { server: Server; guarding: Guard };
}

async function begin() {
  const { createLogin } = (await import(pathToFileURL(join(EXAMPLE, 'server.mjs')).href)) as Example;
  const backend = openMemory({ cleanupInterval: 0 });
  closeAfterwards(() => backend.close());
  let now = 1_800_000_000_000_000_000n;
  const events: GuardEvent[] = [];
  const { server, guarding } = createLogin({
    backend,
    password: 'swordfish',
    clock: { now: () => now },
    log: (event) => events.push(event),
  });
  const port = await serveHttp(server);
  return {
    events,
    guarding,
    wait: (seconds: number, nanoseconds = 0n) => {
      now += BigInt(seconds) * 1_000_000_000n + nanoseconds;
    },
    login: (password: string, from?: string): Promise<Reply> =>
      ask(port, '/login', {
        method: 'POST',
        headers: FORM,
        body: `password=${password}`,
        ...(from !== undefined && { from }),
      }),
    visit: (path: string, headers: Record<string, string> = {}, from?: string): Promise<Reply> =>
      ask(port, path, { headers, ...(from !== undefined && { from }) }),
  };
}

describe('examples/login: passwords', () => {
  test('ten failures within a minute block the login of that address, for an hour', async () => {
    const { login, visit, wait, events } = await begin();
    for (let failure = 0; failure < 10; failure++) {
      expect((await login('guess')).status).toBe(401);
      wait(5);
    }
    expect((await login('swordfish')).status).toBe(429);
    expect((await visit('/login')).status).toBe(429);
    expect((await visit('/')).status).toBe(200);
    expect((await login('swordfish', '127.0.0.2')).status).toBe(303);
    // The block began with the tenth failure, five seconds before the clock stood here.
    wait(3594, 999_999_999n);
    expect((await login('swordfish')).status).toBe(429);
    wait(0, 1n);
    expect((await login('swordfish')).status).toBe(303);
    expect(JSON.stringify(events)).not.toMatch(/guess|swordfish/);
    expect(events.map((event) => 'rule' in event && event.rule.message)).toEqual([
      'too many failed logins',
      'login blocked',
      'login blocked',
      'login blocked',
    ]);
  });

  test('nine failures a minute are forgiven, minute by minute', async () => {
    const { login, wait } = await begin();
    for (let minute = 0; minute < 5; minute++) {
      for (let failure = 0; failure < 9; failure++) expect((await login('guess')).status).toBe(401);
      wait(60);
    }
    expect((await login('swordfish')).status).toBe(303);
  });

  test('forty tries at once count forty', async () => {
    const { login } = await begin();
    await Promise.all(Array.from({ length: 40 }, () => login('guess')));
    expect((await login('swordfish')).status).toBe(429);
  });
});

describe('examples/login: sessions', () => {
  const browser = { 'user-agent': 'Browser/1' };

  async function session(begun: Awaited<ReturnType<typeof begin>>) {
    const { headers } = await begun.login('swordfish');
    const sid = /sid=([0-9a-f]{32});/.exec(headers['set-cookie']?.[0] ?? '')?.[1];
    return { ...browser, cookie: `theme=dark; sid=${sid}` };
  }

  test('a session works where it was first used, by the same browser alone', async () => {
    const begun = await begin();
    const { visit, events } = begun;
    const headers = await session(begun);
    expect((await visit('/', headers)).status).toBe(200);
    expect((await visit('/', headers)).status).toBe(200);
    expect((await visit('/', headers, '127.0.0.2')).status).toBe(403);
    expect((await visit('/', { ...headers, 'user-agent': 'Other/1' })).status).toBe(403);
    expect((await visit('/', { cookie: headers.cookie })).status).toBe(403);
    expect((await visit('/', headers)).status).toBe(200);
    expect(JSON.stringify(events)).not.toMatch(/[0-9a-f]{32}(?![0-9a-f-])|Browser|Other/);
    expect(events).toHaveLength(3);
  });

  test('a cookie that is no session binds nothing', async () => {
    const { visit } = await begin();
    const headers = { ...browser, cookie: 'sid=made-up' };
    expect((await visit('/', headers)).status).toBe(200);
    expect((await visit('/', headers, '127.0.0.2')).status).toBe(200);
  });

  test('more than 300 requests a minute are too many, for as long as that is the rate', async () => {
    const begun = await begin();
    const { visit, wait } = begun;
    const headers = await session(begun);
    for (let request = 0; request < 301; request++) expect((await visit('/', headers)).status).toBe(200);
    wait(30);
    expect((await visit('/', headers)).status).toBe(429);
    wait(60);
    expect((await visit('/', headers)).status).toBe(200);
  });
});

describe('examples/login: the program', () => {
  test('runs, keeps a block over a restart, and ends cleanly', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'wafstate-login-'));
    closeAfterwards(async () => rmSync(directory, { recursive: true }));
    const run = async (use: (port: number) => Promise<void>) => {
      const child = spawn(process.execPath, [join(EXAMPLE, 'server.mjs')], {
        cwd: directory,
        env: { ...process.env, PORT: '0', PASSWORD: 'swordfish' },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      await use(Number(/:(\d+)\//.exec(line)?.[1]));
      child.kill('SIGTERM');
      expect(await once(child, 'exit')).toEqual([0, null]);
    };
    const login = (port: number, password: string) =>
      ask(port, '/login', { method: 'POST', headers: FORM, body: `password=${password}` });
    await run(async (port) => {
      await Promise.all(Array.from({ length: 12 }, () => login(port, 'guess')));
      expect((await login(port, 'swordfish')).status).toBe(429);
    });
    await run(async (port) => {
      expect((await login(port, 'swordfish')).status).toBe(429);
    });
  });

  test('its rules pass the linter', async () => {
    const { lintRules, loadRules } = await import('wafstate/seclang');
    const files = ['login.conf', 'sessions.conf'].map((name) => join(EXAMPLE, name));
    for (const file of files) expect(readFileSync(file, 'utf8')).not.toMatch(/\t/);
    expect(lintRules(loadRules(files))).toEqual([]);
  });
});
