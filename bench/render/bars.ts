import type { CaseReport, Result } from '../report.js';
import type { Spread } from '../statistics.js';
import { colorOf } from './colors.js';
import { figure, short, withSpread } from './format.js';
import { logScale } from './log-scale.js';
import { element, escapeText } from './markup.js';
import { groupsOf } from './verdict.js';

const WIDTH = 960;
/** Where the axis begins, and what is kept for the figures at its end. */
const LABELS = 340;
const VALUES = 90;
const ROW = 24;
const HEAD = 30;
const AXIS = 42;
/** The axis begins below the least value by at least this, so that the shortest bar can be seen. */
const ROOM = 0.8;

interface Bar {
  readonly result: Result;
  readonly spread: Spread;
}

/** Bars on a logarithmic axis, each with a line from its slowest to its fastest round; empty where nothing was measured. */
export function barChart(each: CaseReport): string {
  const groups = groupsOf(each)
    .map((group) => group.flatMap((result) => barOf(each, result) ?? []))
    .filter((group) => group.length > 0);
  const ends = groups.flat().flatMap(({ spread: { low, high } }) => [low * ROOM, high]);
  if (ends.length === 0) return '';
  const { ticks, position } = logScale(ends, LABELS, WIDTH - VALUES);

  const rows: string[] = [];
  let y = 4;
  for (const group of groups) {
    if (each.grouped) {
      rows.push(
        element('text', { x: 0, y: y + 20, class: 'group' }, escapeText(group[0]?.result.setting ?? '')),
      );
      y += HEAD;
    }
    for (const bar of group) {
      rows.push(row(bar, y, position, each.grouped));
      y += ROW;
    }
  }
  const bottom = y + 4;
  const grid = ticks.map((tick) => {
    const x = position(tick);
    return (
      element('line', { x1: x, x2: x, y1: 0, y2: bottom, class: 'grid' }) +
      element('text', { x, y: bottom + 16, class: 'tick', 'text-anchor': 'middle' }, short(tick))
    );
  });
  const unit =
    each.chart === 'rates' ? 'operations per second, more is better' : `${each.unit}, less is better`;
  const caption = `${unit}; logarithmic; thin line: least to greatest round`;
  return element(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${bottom + AXIS}`, role: 'img', 'aria-label': each.title },
    ...grid,
    ...rows,
    element(
      'text',
      { x: WIDTH - VALUES, y: bottom + 34, class: 'tick', 'text-anchor': 'end' },
      escapeText(caption),
    ),
  );
}

function barOf({ chart }: CaseReport, result: Result): Bar | undefined {
  const spread = chart === 'rates' ? result.opsPerSecond : result.figure;
  return spread === undefined || spread.low <= 0 ? undefined : { result, spread };
}

function row(
  { result, spread }: Bar,
  y: number,
  position: (value: number) => number,
  grouped: boolean,
): string {
  const { median, low, high } = spread;
  const name = grouped ? result.title : `${result.title} · ${result.setting}`;
  const middle = y + ROW / 2;
  const box = { x: LABELS, y: y + 4, width: Math.max(1, position(median) - LABELS), height: ROW - 8, rx: 2 };
  return element(
    'g',
    {},
    element('title', {}, escapeText(`${name}: ${withSpread(spread)}`)),
    element(
      'text',
      { x: LABELS - 10, y: middle + 4, class: 'label', 'text-anchor': 'end' },
      escapeText(name),
    ),
    element('rect', { ...box, fill: colorOf(result.subject) }),
    element('line', { x1: position(low), x2: position(high), y1: middle, y2: middle, class: 'spread' }),
    element('text', { x: position(high) + 8, y: middle + 4, class: 'value' }, escapeText(figure(median))),
  );
}
