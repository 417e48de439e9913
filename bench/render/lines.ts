import type { CaseReport, Result } from '../report.js';
import { colorOf } from './colors.js';
import { figure, short } from './format.js';
import { type LogScale, logScale } from './log-scale.js';
import { coordinate, element, escapeText } from './markup.js';

const WIDTH = 960;
const HEIGHT = 380;
const LEFT = 70;
const RIGHT = 20;
const TOP = 10;
const BOTTOM = 50;
const LEGEND_ROW = 22;
const LEGEND_COLUMN = 310;
const LEGEND_COLUMNS = 3;

/** A line of the chart: the points of one subject. */
interface Line {
  readonly subject: string;
  readonly title: string;
  readonly dashed: boolean;
  readonly points: readonly { readonly x: number; readonly y: number; readonly text: string }[];
}

/** Latencies over the offered rate: p99 drawn through, p50 dashed. */
export function latencyChart(each: CaseReport): string {
  const lines = subjectsOf(each).flatMap((results) =>
    (['p99', 'p50'] as const).map((percentile) =>
      line(results, percentile === 'p50', ({ latency }) => latency?.[percentile]),
    ),
  );
  return chart(each, lines, 'operations offered per second', 'µs from when due: p99, p50 dashed');
}

/** The figure of the case over a size. */
export function growthChart(each: CaseReport): string {
  const lines = subjectsOf(each).map((results) => line(results, false, (result) => result.figure?.median));
  return chart(each, lines, 'records', each.unit ?? '');
}

function subjectsOf({ results }: CaseReport): Result[][] {
  const ids = [...new Set(results.map(({ subject }) => subject))];
  return ids.map((id) => results.filter(({ subject }) => subject === id));
}

function line(
  results: readonly Result[],
  dashed: boolean,
  value: (result: Result) => number | undefined,
): Line {
  const [first] = results as [Result];
  const points = results.flatMap((result) => {
    const y = value(result);
    if (y === undefined || y <= 0 || result.at === undefined) return [];
    return [{ x: result.at, y, text: `${result.title}, ${result.setting}: ${figure(y)}` }];
  });
  return { subject: first.subject, title: first.title, dashed, points };
}

function chart(each: CaseReport, lines: readonly Line[], xTitle: string, yTitle: string): string {
  const points = lines.flatMap((line) => line.points);
  if (points.length === 0) return '';
  const x = logScale(
    points.map((point) => point.x),
    LEFT,
    WIDTH - RIGHT,
  );
  const y = logScale(
    points.map((point) => point.y),
    HEIGHT - BOTTOM,
    TOP,
  );
  const legend = legendOf(lines);
  const height = HEIGHT + Math.ceil(legend.length / LEGEND_COLUMNS) * LEGEND_ROW;
  return element(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-label': each.title },
    ...axes(x, y, `${xTitle} (logarithmic)`, `${yTitle} (logarithmic)`),
    ...lines.map((line) => drawn(line, x, y)),
    ...legend,
  );
}

function axes(x: LogScale, y: LogScale, xTitle: string, yTitle: string): string[] {
  const middle = (TOP + HEIGHT - BOTTOM) / 2;
  const turned = `rotate(-90 14 ${middle})`;
  return [
    ...x.ticks.map((tick) => {
      const at = x.position(tick);
      return (
        element('line', { x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM, class: 'grid' }) +
        element(
          'text',
          { x: at, y: HEIGHT - BOTTOM + 18, class: 'tick', 'text-anchor': 'middle' },
          short(tick),
        )
      );
    }),
    ...y.ticks.map((tick) => {
      const at = y.position(tick);
      return (
        element('line', { x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at, class: 'grid' }) +
        element('text', { x: LEFT - 8, y: at + 4, class: 'tick', 'text-anchor': 'end' }, short(tick))
      );
    }),
    element(
      'text',
      { x: WIDTH / 2, y: HEIGHT - 14, class: 'tick', 'text-anchor': 'middle' },
      escapeText(xTitle),
    ),
    element(
      'text',
      { x: 14, y: middle, class: 'tick', 'text-anchor': 'middle', transform: turned },
      escapeText(yTitle),
    ),
  ];
}

function drawn({ subject, dashed, points }: Line, x: LogScale, y: LogScale): string {
  const color = colorOf(subject);
  const path = points.map((point) => `${coordinate(x.position(point.x))},${coordinate(y.position(point.y))}`);
  const dash = dashed ? { 'stroke-dasharray': '5 4', 'stroke-opacity': '0.7' } : {};
  const dots = points.map((point) =>
    element(
      'circle',
      { cx: x.position(point.x), cy: y.position(point.y), r: dashed ? 2.5 : 4, fill: color },
      element('title', {}, escapeText(point.text)),
    ),
  );
  const stroke = { points: path.join(' '), fill: 'none', stroke: color, 'stroke-width': 2, ...dash };
  return element('polyline', stroke) + dots.join('');
}

function legendOf(lines: readonly Line[]): string[] {
  return lines
    .filter(({ dashed, points }) => !dashed && points.length > 0)
    .map(({ subject, title }, index) => {
      const left = LEFT + (index % LEGEND_COLUMNS) * LEGEND_COLUMN;
      const top = HEIGHT + Math.floor(index / LEGEND_COLUMNS) * LEGEND_ROW + 12;
      return (
        element('rect', { x: left, y: top - 6, width: 22, height: 5, fill: colorOf(subject) }) +
        element('text', { x: left + 30, y: top, class: 'label' }, escapeText(title))
      );
    });
}
