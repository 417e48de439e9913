import fc from 'fast-check';
import { expect, it } from 'vitest';
import { columns, isoTime, printable, unprintable } from '../../src/cli/terminal.js';

it('what is printed holds nothing that a terminal obeys', () => {
  expect(printable('a\x1b[31m\n\x00é')).toBe('a%1B[31m%0A%00%E9');
});

it('what is printed names the same bytes when given back', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect([...unprintable(printable(Buffer.from(bytes).toString('latin1')))]).toEqual([...bytes]);
    }),
  );
});

it('an argument in UTF-8 names its bytes', () => {
  expect([...unprintable('é%41%4')]).toEqual([0xc3, 0xa9, 0x41, 0x25, 0x34]);
});

it('columns line up', () => {
  expect(
    columns([
      ['a', 'bb', 'c'],
      ['aaa', 'b', 'cc'],
    ]),
  ).toBe('a    bb  c\naaa  b   cc\n');
});

it('a time beyond the calendar is still shown', () => {
  expect(isoTime(1_767_225_600_000_000_000n)).toBe('2026-01-01T00:00:00.000Z');
  expect(isoTime(2n ** 63n - 1n)).toBe('2262-04-11T23:47:16.854Z');
  expect(isoTime(-(2n ** 63n))).toMatch(/^1677-/);
});
