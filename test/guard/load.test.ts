import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { describe, expect, test } from 'vitest';
import { crsIsInstalled, DOS, INITIALIZATION, SETUP } from './crs.js';
import { ask, closeAfterwards } from './servers.js';

const APP = fileURLToPath(new URL('./cluster-app.mjs', import.meta.url));
const THRESHOLD = 50;
const BLOCK_MS = 4000;
const CONNECTIONS = 10;

/** The application behind the guard, and how to end it: resolves to its status, 1 where anything was not stored. */
async function start(
  processes: number,
  flush: string,
): Promise<{ port: number; stop: () => Promise<number | null> }> {
  const directory = mkdtempSync(join(tmpdir(), 'wafstate-load-'));
  const thresholds = join(directory, 'thresholds.conf');
  writeFileSync(
    thresholds,
    `SecAction "id:900700,phase:1,nolog,pass,t:none,setvar:'tx.dos_burst_time_slice=60',\\
      setvar:'tx.dos_counter_threshold=${THRESHOLD}',setvar:'tx.dos_block_timeout=${BLOCK_MS / 1000}'"`,
  );
  const files = [SETUP, thresholds, INITIALIZATION, DOS];
  const child = spawn(process.execPath, [APP, join(directory, 'state'), String(processes), flush, ...files], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  closeAfterwards(async () => {
    child.stdin.end();
    await exited;
    rmSync(directory, { recursive: true });
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const stop = async () => {
    child.stdin.end();
    const [status] = (await exited) as [number | null];
    return status;
  };
  return { port: Number(line), stop };
}

const AGENT = { 'user-agent': 'load' };
const attacker = { ...AGENT, 'x-forwarded-for': '203.0.113.9' };

/** Requests of ever new addresses, until told otherwise. */
function crowd(port: number): { stop: () => Promise<autocannon.Result> } {
  let address = 0;
  let halt: () => void = () => undefined;
  const result = new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(
      {
        url: `http://127.0.0.1:${port}`,
        connections: 8,
        duration: 600,
        requests: [
          {
            setupRequest: (request) => {
              address++;
              // What the client itself claims, and what the proxy saw.
              const forwarded = `203.0.113.9, 198.${18 + (address >> 16)}.${(address >> 8) & 255}.${address & 255}`;
              return { ...request, path: '/page', headers: { ...AGENT, 'x-forwarded-for': forwarded } };
            },
          },
        ],
      },
      (error, outcome) => (error === null || error === undefined ? resolve(outcome) : reject(error)),
    );
    halt = () => instance.stop?.();
  });
  return {
    stop: () => {
      halt();
      return result;
    },
  };
}

/** Many connections at once, each until it is dropped. Tells how many requests passed, and when `mark` of them had. */
async function burst(port: number, mark: number): Promise<{ marked: number; passed: number }> {
  let passed = 0;
  let marked = 0;
  const client = async () => {
    for (;;) {
      const reply = await attempt(port);
      if (reply === undefined) return;
      expect(reply.status).toBe(200);
      passed++;
      if (passed === mark) marked = performance.now();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, client));
  return { marked, passed };
}

/** One request of the attacker; undefined where the connection was dropped. */
function attempt(port: number) {
  return ask(port, '/page', { headers: attacker }).catch(() => undefined);
}

describe.skipIf(!crsIsInstalled)('a denial of service under load', () => {
  test.each([
    [1, 'after'],
    [4, 'before'],
  ])(
    'against %d processes that flush %s the response blocks its address on time, and no other',
    async (processes, flush) => {
      const { port, stop } = await start(processes, flush);
      const others = crowd(port);

      // What completes the second burst is asked when all but so many requests before it have their answer.
      const { marked, passed } = await burst(port, 2 * THRESHOLD - CONNECTIONS);
      expect(passed).toBeGreaterThanOrEqual(2 * THRESHOLD - CONNECTIONS);

      expect(await attempt(port)).toBeUndefined();
      const blocked = performance.now();
      let last = blocked;
      let begun = blocked;
      let reply = await attempt(port);
      while (reply === undefined) {
        last = begun;
        begun = performance.now();
        reply = await attempt(port);
      }
      const ended = performance.now();
      expect(reply.status).toBe(200);
      // Not a moment too early, and no request that begins later is dropped.
      expect(ended - marked).toBeGreaterThanOrEqual(BLOCK_MS);
      expect(last - blocked).toBeLessThan(BLOCK_MS);

      const crowded = await others.stop();
      expect(crowded['2xx']).toBeGreaterThan(passed);
      expect(crowded).toMatchObject({ non2xx: 0, errors: 0 });
      process.stdout.write(
        `${processes} processes: ${passed} passed, then dropped for ${Math.round(ended - blocked)} ms, while ` +
          `${crowded['2xx']} requests of other addresses passed\n`,
      );
      expect(await stop()).toBe(0);
    },
  );
});
