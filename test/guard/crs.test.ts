import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Collections, openMemory } from 'wafstate';
import { guard } from 'wafstate/guard';
import { loadRules } from 'wafstate/seclang';
import { crsIsInstalled, DOS, INITIALIZATION, REPUTATION, SETUP } from './crs.js';
import { ask, closeAfterwards, serveHttp } from './servers.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-crs-'));
const thresholds = join(directory, 'thresholds.conf');
beforeAll(() =>
  writeFileSync(
    thresholds,
    `SecAction "id:900700,phase:1,nolog,pass,t:none,setvar:'tx.dos_burst_time_slice=60',\\
      setvar:'tx.dos_counter_threshold=10',setvar:'tx.dos_block_timeout=600'"`,
  ),
);
afterAll(() => rmSync(directory, { recursive: true }));

describe.skipIf(!crsIsInstalled)('the Core Rule Set 3.3.4', () => {
  test('setup, 901 and 912 load as they are, without a warning', () => {
    const rules = loadRules([SETUP, INITIALIZATION, DOS]);
    expect(rules.warnings).toEqual([]);
    expect(rules.size).toBeGreaterThan(45);
  });

  test('910 loads with a counted warning for each of rbl and geoLookup, and without the choice not at all', () => {
    const rules = loadRules([SETUP, INITIALIZATION, REPUTATION, DOS], { unsupported: 'skip' });
    expect(rules.warnings.map(({ construct }) => construct).sort()).toEqual([
      '@geoLookup',
      '@rbl',
      'skipAfter',
    ]);
    expect(() => loadRules([REPUTATION])).toThrow(expect.objectContaining({ code: 'unsupported' }));
  });

  test('a burst blocks its address until the very end of the block, and no other', async () => {
    const backend = openMemory({ cleanupInterval: 0 });
    closeAfterwards(() => backend.close());
    const rules = loadRules([SETUP, thresholds, INITIALIZATION, DOS]);
    let now = 1_800_000_000_000_000_000n;
    const collections = new Collections({ backend, clock: { now: () => now }, ...rules.collectionOptions });
    const guarding = guard({ collections, rules, flush: 'before' });
    const port = await serveHttp(createServer(guarding.handler((_request, response) => response.end('app'))));
    const attempt = async (from: string, path = '/page') => {
      const reply = await ask(port, path, { from }).catch(() => undefined);
      return reply?.status ?? 'dropped';
    };

    // Two bursts of 10; the request that completes the second one still has its answer.
    for (let request = 0; request < 20; request++) expect(await attempt('127.0.0.2')).toBe(200);
    expect(await attempt('127.0.0.2')).toBe('dropped');
    for (let request = 0; request < 15; request++) expect(await attempt('127.0.0.3')).toBe(200);
    for (let request = 0; request < 40; request++) expect(await attempt('127.0.0.4', '/logo.png')).toBe(200);

    now += 599_999_999_999n;
    expect(await attempt('127.0.0.2')).toBe('dropped');
    now += 1n;
    expect(await attempt('127.0.0.2')).toBe(200);
  });
});
