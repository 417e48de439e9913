import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/backend/memory/memory.js';
import type { MemoryOptions } from '../../../src/backend/memory/options.js';
import type { ByteString } from '../../../src/contract/bytes.js';
import { INT64_MAX } from '../../../src/contract/clock.js';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.js';

describe('openMemory refuses', () => {
  it.each<[string, object, string]>([
    ['an unknown option', { maxRecord: 5 }, "no option 'maxRecord'; did you mean 'maxRecords'?"],
    ['no room', { maxRecords: 0 }, 'maxRecords must be an integer of records from 1 to 16777216, got 0'],
    ['a fraction of a record', { maxRecords: 1.5 }, 'got 1.5'],
    ['too few bytes', { maxBytes: 1 << 32 }, 'maxBytes must be an integer of bytes from 65536'],
    ['a third way', { onFull: 'ignore' }, "onFull must be 'evict' or 'refuse'"],
    [
      'negative time',
      { cleanupInterval: -1 },
      'cleanupInterval must be a number of seconds from 0 to 86400, got -1',
    ],
    ['a clock that leaves no revisions', { clock: { now: () => INT64_MAX } }, 'or revisions would run out'],
    ['a clock that cannot tell', { clock: {} }, 'clock must have a method now()'],
  ])('%s', (_, options, message) => {
    expect(() => openMemory(options as MemoryOptions)).toThrow(
      expect.objectContaining({ code: 'invalid_option', message: expect.stringContaining(message) }),
    );
  });
});

describe('an open engine', () => {
  it('does not keep the process alive', () => {
    const program = "import { openMemory } from 'wafstate'; openMemory({ cleanupInterval: 3600 });";
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: new URL('../../..', import.meta.url),
      timeout: 30_000,
    });
  });

  it('keeps its own copy of a key, not the text that it was cut from', async () => {
    const program = `
      import { DEFAULT_LIMITS, openMemory } from 'wafstate';
      const memory = openMemory({ cleanupInterval: 0 });
      const before = process.memoryUsage().heapUsed;
      for (let i = 0; i < 2000; i++) {
        const headers = String(i).padStart(32, '.').repeat(2048);
        const part = (from) => headers.slice(from, from + 40);
        await memory.commit(
          [{
            record: { space: 1, applicationId: part(0), key: part(1) },
            expect: 'any',
            mutations: [{ type: 'set', name: part(2), value: part(3) }, { type: 'set', name: 'x', value: part(4) }],
          }],
          { now: 0n, limits: DEFAULT_LIMITS },
        );
      }
      gc();
      const grown = process.memoryUsage().heapUsed - before;
      console.log(JSON.stringify({ grown, records: memory.stats().records }));
    `;
    const args = ['--expose-gc', '--input-type=module', '--eval', program];
    const output = execFileSync(process.execPath, args, { cwd: new URL('../../..', import.meta.url) });
    const { grown, records } = JSON.parse(String(output)) as { grown: number; records: number };
    expect(records).toBe(2000);
    // The texts have 125 MiB; a copy of what is kept of them, with everything around it, has about 3.
    expect(grown).toBeLessThan(20 * 2 ** 20);
  });

  it('is not changed by a caller who changes what he has passed', async () => {
    const memory = openMemory({ cleanupInterval: 0 });
    const record = { space: 1, applicationId: 'a' as ByteString, key: 'k' as ByteString };
    await memory.commit([{ record, expect: 'any', mutations: [] }], { now: 0n, limits: DEFAULT_LIMITS });
    record.key = 'other' as ByteString;
    const { entries } = await memory.scan({ now: 0n, limit: 10 });
    expect(entries.map((entry) => entry.record.key)).toEqual(['k']);
  });

  it('begins its revisions at the microseconds of its clock', async () => {
    const memory = openMemory({ cleanupInterval: 0, clock: { now: () => 5_000_000n } });
    const record = { space: 1, applicationId: '' as ByteString, key: 'k' as ByteString };
    const write = { record, expect: 'any', mutations: [] } as const;
    const [result] = await memory.commit([write], { now: 0n, limits: DEFAULT_LIMITS });
    expect(result?.revision).toBe(5001);
  });

  it('pages through more records than one page looks at', async () => {
    const memory = openMemory({ cleanupInterval: 0 });
    for (let i = 0; i < 12_000; i++) {
      const record = {
        space: 1,
        applicationId: '' as ByteString,
        key: String(i).padStart(6, '0') as ByteString,
      };
      await memory.commit([{ record, expect: 'any', timeout: 1n, mutations: [] }], {
        now: 0n,
        limits: DEFAULT_LIMITS,
      });
    }
    const page = await memory.scan({ now: 1n, limit: 1 });
    expect(page.entries).toEqual([]);
    expect(page.next?.key).toBe('010000');
    expect(await memory.scan({ now: 1n, limit: 1, after: page.next })).toEqual({
      entries: [],
      next: undefined,
    });
  });
});
