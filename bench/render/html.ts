import type { CaseReport, Goal, Report } from '../report.js';
import { barChart } from './bars.js';
import { columnsOf } from './columns.js';
import { figure } from './format.js';
import { growthChart, latencyChart } from './lines.js';
import { element, escapeText } from './markup.js';
import { STYLE } from './style.js';
import { caution, environmentRows, goalText, goalVerdict } from './summary.js';
import { otherWins } from './verdict.js';

/** report.html: one file without a script or anything to fetch, for a browser that may be offline. */
export function renderHtml(report: Report): string {
  const note = caution(report);
  const wins = otherWins(report);
  const measured = report.goals.filter(({ met }) => met !== null);
  const passed = measured.filter(({ met }) => met === true).length;
  const missing = report.goals.length - measured.length;
  const unmeasured = missing === 0 ? '' : `; not measured: ${missing}`;
  const body = [
    '<h1>wafstate benchmark report</h1>',
    paragraph(`${passed} of ${measured.length} measured goals passed${unmeasured}.`),
    ...(note === undefined ? [] : [element('p', { class: 'caution' }, escapeText(note))]),
    contents(report),
    '<h2 id="goals">Goals</h2>',
    paragraph(
      'Each is a ratio of medians over rounds that took turns in this one run, so that the speed of the machine cancels out.',
    ),
    scrolling(element('table', {}, headRow(GOAL_HEADS), ...report.goals.map(goalRow))),
    '<h2 id="others">Where something else is better</h2>',
    wins.length === 0 ? paragraph('In no case that was measured.') : list(wins),
    ...report.cases.map(section),
    ...(report.skipped.length === 0
      ? []
      : [
          '<h2 id="left-out">Left out</h2>',
          list(report.skipped.map(({ what, reason }) => `${what}: ${reason}`)),
        ]),
    '<h2 id="environment">Environment</h2>',
    table(['What', 'How it was'], environmentRows(report)),
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>wafstate benchmark report</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body.join('\n')}
</main>
</body>
</html>
`;
}

function contents({ cases }: Report): string {
  return element(
    'nav',
    {},
    ...cases.map(({ id, title }) => element('a', { href: `#${id}` }, escapeText(title))),
  );
}

function section(each: CaseReport): string {
  const columns = columnsOf(each);
  const rows = each.results.map((result) => columns.map(({ cell }) => cell(result)));
  const heads = columns.map(({ head }) => head);
  const content =
    rows.length === 0
      ? paragraph('No subject could run.')
      : chartOf(each) +
        element('details', {}, element('summary', {}, 'All figures of this case'), table(heads, rows));
  return element(
    'section',
    {},
    element('h2', { id: each.id }, escapeText(each.title)),
    paragraph(each.description),
    content,
  );
}

function chartOf(each: CaseReport): string {
  switch (each.chart) {
    case 'latency':
      return latencyChart(each);
    case 'growth':
      return growthChart(each);
    default:
      return barChart(each);
  }
}

const GOAL_HEADS = ['Ratio', 'Value', 'Goal', 'Verdict', 'What is divided'];

function goalRow(goal: Goal): string {
  const verdict = goalVerdict(goal);
  const note = goal.note === undefined ? '' : element('small', {}, escapeText(` ${goal.note}`));
  return element(
    'tr',
    {},
    element('td', {}, element('code', {}, escapeText(goal.name))),
    element('td', { class: 'number' }, goal.value === null ? '–' : escapeText(figure(goal.value))),
    element('td', { class: 'whole' }, escapeText(goalText(goal))),
    element('td', { class: `whole ${verdict === 'not measured' ? 'unmeasured' : verdict}` }, verdict),
    element('td', {}, escapeText(goal.what) + note),
  );
}

const NUMBER = /^[\d.,]+( MiB| \([\d., to]+\))?$/;

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string): string =>
    element('td', { class: NUMBER.test(text) ? 'number' : 'text' }, escapeText(text));
  const body = rows.map((cells) => element('tr', {}, ...cells.map(cell)));
  return scrolling(element('table', {}, headRow(heads), ...body));
}

function headRow(heads: readonly string[]): string {
  return element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, escapeText(head))));
}

/** A wide table scrolls by itself on a narrow screen, and the page does not. */
function scrolling(content: string): string {
  return element('div', { class: 'wide' }, content);
}

function paragraph(text: string): string {
  return element('p', {}, escapeText(text));
}

function list(items: readonly string[]): string {
  return element('ul', {}, ...items.map((item) => element('li', {}, escapeText(item))));
}
