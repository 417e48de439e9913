import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { MAX_LINE_BYTES, parseLine, readLines } from '../../src/cli/access-log.js';

const directory = mkdtempSync(join(tmpdir(), 'wafstate-log-'));
afterAll(() => rmSync(directory, { recursive: true }));

const COMBINED =
  '203.0.113.9 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 203023 "http://example.com/" "Mozilla/5.0"';

function at(iso: string): bigint {
  return BigInt(Date.parse(iso)) * 1_000_000n;
}

describe('a line', () => {
  it('of the combined format gives address and time', () => {
    expect(parseLine(COMBINED)).toEqual({ address: '203.0.113.9', time: at('2015-05-17T10:05:03Z') });
  });

  it.each([
    [
      'the common format',
      '2001:db8::1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326',
      '2000-10-10T20:55:36Z',
    ],
    [
      'a user with a blank',
      'host - john smith [10/Oct/2000:13:55:36 +0530] "-" 408 -',
      '2000-10-10T08:25:36Z',
    ],
    ['a leap second', 'h - - [31/Dec/2016:23:59:60 +0000] "GET /" 200 1', '2017-01-01T00:00:00Z'],
    ['a leap day', 'h - - [29/Feb/2016:00:00:00 +0000] "GET /" 200 1', '2016-02-29T00:00:00Z'],
  ])('%s', (_, line, time) => {
    expect(parseLine(line)?.time).toBe(at(time));
  });

  it.each([
    ['empty', ''],
    ['no time', '203.0.113.9 - - "GET / HTTP/1.1" 200 1'],
    ['an unknown month', COMBINED.replace('May', 'Mai')],
    ['a day that the month has not', COMBINED.replace('17/May', '31/Feb')],
    ['the same in a leap second', COMBINED.replace('17/May', '31/Feb').replace('05:03', '05:60')],
    ['a year beyond 64 bits of nanoseconds', COMBINED.replace('2015', '2263')],
    ['a year before them', COMBINED.replace('2015', '1677')],
    ['an address that is no ASCII', COMBINED.replace('203.0.113.9', '\xff'.repeat(700))],
    ['day zero', COMBINED.replace('17/May', '00/May')],
    ['hour 24', COMBINED.replace('2015:10', '2015:24')],
    ['no zone', COMBINED.replace(' +0000', '')],
    ['an address over a key', COMBINED.replace('203.0.113.9', 'a'.repeat(1025))],
    ['JSON', '{"time":"2015-05-17"}'],
  ])('that is malformed: %s', (_, line) => {
    expect(parseLine(line)).toBeUndefined();
  });

  it('that is hostile takes bounded time', () => {
    const line = `h ${'[ '.repeat(MAX_LINE_BYTES / 2 - 8)}`;
    expect(parseLine(line)).toBeUndefined();
  });
});

async function linesOf(content: Uint8Array): Promise<(string | undefined)[]> {
  const path = join(directory, 'log');
  writeFileSync(path, content);
  const lines: (string | undefined)[] = [];
  for await (const line of readLines(path)) lines.push(line);
  return lines;
}

describe('the lines of a file', () => {
  it('end with or without a newline, and with CRLF', async () => {
    expect(await linesOf(Buffer.from('a\nb\r\n\nc'))).toEqual(['a', 'b', '', 'c']);
    expect(await linesOf(Buffer.from('a\n'))).toEqual(['a']);
    expect(await linesOf(Buffer.alloc(0))).toEqual([]);
  });

  it('are the same through gzip, whatever the name', async () => {
    const plain = Buffer.from(
      Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'x'.repeat(i % 97)}`).join('\n'),
    );
    expect(await linesOf(gzipSync(plain))).toEqual(await linesOf(plain));
  });

  it('over the bound are malformed, alone', async () => {
    const long = 'x'.repeat(MAX_LINE_BYTES + 1);
    expect(
      await linesOf(Buffer.from(`a\n${long}\nb\n${'y'.repeat(10 * MAX_LINE_BYTES)}\nc\n${long}`)),
    ).toEqual(['a', undefined, 'b', undefined, 'c', undefined]);
    expect(await linesOf(Buffer.from(`${long.slice(1)}\nb`))).toEqual([long.slice(1), 'b']);
  });

  it('of a truncated gzip fail, and are not taken for the whole', async () => {
    const zipped = gzipSync(Buffer.from('a\n'.repeat(100_000)));
    await expect(linesOf(zipped.subarray(0, zipped.length - 9))).rejects.toThrow('unexpected end of file');
  });

  it('of a missing file fail with its name', async () => {
    await expect(async () => {
      for await (const _ of readLines(join(directory, 'absent')));
    }).rejects.toThrow(/cannot read the log .*absent: .*ENOENT/);
  });
});
