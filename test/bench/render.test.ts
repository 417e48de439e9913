import { describe, expect, it } from 'vitest';
import { renderHtml } from '../../bench/render/html.js';
import { logScale } from '../../bench/render/log-scale.js';
import { renderMarkdown } from '../../bench/render/markdown.js';
import { renderTerminal } from '../../bench/render/terminal.js';
import { otherWins } from '../../bench/render/verdict.js';
import type { Report, Result } from '../../bench/report.js';
import { rate, report, reportCase, valued } from './fixture.js';

const latency = (subject: string, at: number, p99: number): Result => ({
  ...rate(subject, `${at}/s offered`, at, subject === 'lmdb-native' ? 'wafstate' : 'other'),
  at,
  latency: { p50: p99 / 2, p99, p999: p99 * 2 },
});

const full: Report = report({
  cases: [
    reportCase('one', [
      rate('lmdb-native', 'a', 200_000),
      rate('peer', 'a', 3000, 'other'),
      rate('limit', 'b', 400_000, 'bound'),
    ]),
    reportCase('two', [valued('shared-memory', 'x', 90), valued('peer', 'x', 45, 'other')], {
      chart: 'figures',
      unit: 'bytes per record',
    }),
    reportCase(
      'three',
      [latency('lmdb-native', 100, 900), latency('peer', 100, 90), latency('lmdb-native', 1000, 950)],
      {
        chart: 'latency',
        grouped: true,
      },
    ),
    reportCase('four', [{ ...valued('memory', '10 records', 50), at: 10 }], {
      chart: 'growth',
      unit: 'ns',
      grouped: true,
    }),
    reportCase('five', []),
  ],
  skipped: [{ what: 'Redis', reason: 'there is no <redis-server> & co' }],
  goals: [
    { name: 'good', what: 'a ÷ b', direction: 'at least', goal: 2, value: 2.5, met: true },
    { name: 'bad', what: 'c ÷ d', direction: 'at most', goal: 0.5, value: 0.75, met: false },
    { name: 'none', what: 'e ÷ f', direction: 'at most', goal: 0.5, value: null, met: null },
  ],
});

describe('who is better', () => {
  it('says where another subject is, by how much, in the direction of the case', () => {
    expect(otherWins(full)).toEqual([
      'Case two: the peer is better than the shared-memory, the best of wafstate, by a factor of 2.00 (45.0 against 90.0 bytes per record).',
      'Case three, 100/s offered: the peer is better than the lmdb-native, the best of wafstate, by a factor of 10.0 (90.0 against 900 µs at p99).',
    ]);
  });

  it('holds what the machine allows against nobody', () => {
    const cases = [reportCase('limit', [rate('lmdb-native', 'a', 1), rate('limit', 'a', 9, 'bound')])];
    expect(otherWins(report({ cases }))).toEqual([]);
  });

  it('compares within a setting where a case says so', () => {
    const results = [
      rate('lmdb-native', 'a', 5),
      rate('peer', 'a', 3, 'other'),
      rate('peer', 'b', 9, 'other'),
    ];
    expect(otherWins(report({ cases: [reportCase('c', results, { grouped: true })] }))).toEqual([]);
    expect(otherWins(report({ cases: [reportCase('c', results)] }))).toHaveLength(1);
  });
});

describe('report.html', () => {
  const page = renderHtml(full);

  it('needs nothing from outside', () => {
    expect(page).not.toMatch(/<script|<link|src=|url\(|@import|https?:/);
  });

  it('has every case, every goal with its verdict, and what was left out', () => {
    for (const { title, description } of full.cases) {
      expect(page).toContain(title);
      expect(page).toContain(description);
    }
    expect(page).toContain('1 of 2 measured goals passed; not measured: 1.');
    for (const verdict of ['>pass<', '>short<', '>not measured<']) expect(page).toContain(verdict);
    expect(page).toContain('the peer is better');
    expect(page).toContain('no &#60;redis-server&#62; &#38; co');
  });

  it('draws a chart for every case that has figures, without a broken number', () => {
    expect(page.match(/<svg/g)).toHaveLength(4);
    expect(page).not.toMatch(/NaN|Infinity|undefined/);
  });

  it('closes what it opens', () => {
    const open: string[] = [];
    for (const [, close, name, attributes] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/g)) {
      if (close === '/') expect(open.pop()).toBe(name);
      else if (attributes?.endsWith('/') !== true && name !== 'meta') open.push(name as string);
    }
    expect(open).toEqual([]);
  });

  it('warns of a quick run', () => {
    expect(page).not.toContain('A quick run');
    expect(renderHtml({ ...full, mode: 'quick' })).toContain('A quick run');
  });
});

describe('report.md', () => {
  it('has tables whose rows are as wide as their heads', () => {
    const page = renderMarkdown(full);
    const lines = page.split('\n');
    for (const [index, line] of lines.entries()) {
      if (!line.startsWith('|') || lines[index - 1]?.startsWith('|') !== true) continue;
      expect(line.split('|').length).toBe(lines[index - 1]?.split('|').length);
    }
    expect(page).toContain('| `bad` | 0.750 | at most 0.500 | short | c ÷ d |');
    expect(page).toContain('- Redis: there is no <redis-server> & co');
  });
});

describe('the end of a run in a terminal', () => {
  it('shows the goals that were measured, and who is better', () => {
    const text = renderTerminal(full);
    expect(text).toContain('good   2.50  at least 2.00  pass\n');
    expect(text).not.toContain('none');
    expect(text).toContain('the peer is better');
    expect(text).toContain('Redis: there is no');
  });
});

describe('logarithmic axis', () => {
  it('begins and ends on marks around the values', () => {
    const { ticks, position } = logScale([30, 45_000], 100, 500);
    expect(ticks).toEqual([10, 100, 1000, 10_000, 100_000]);
    expect(position(10)).toBe(100);
    expect(position(100_000)).toBe(500);
    expect(position(1000)).toBe(300);
  });

  it('has finer marks over a short range', () => {
    expect(logScale([120, 900], 0, 1).ticks).toEqual([100, 200, 500, 1000]);
    expect(logScale([100], 0, 1).ticks).toEqual([100, 200]);
  });
});
