import type { CaseReport, Report } from '../report.js';
import { columnsOf } from './columns.js';
import { figure } from './format.js';
import { caution, environmentRows, goalText, goalVerdict } from './summary.js';
import { otherWins } from './verdict.js';

/** report.md: all of the report but its charts. */
export function renderMarkdown(report: Report): string {
  const wins = otherWins(report);
  const note = caution(report);
  const parts = [
    '# wafstate benchmark report',
    ...(note === undefined ? [] : [note]),
    '## Goals',
    goals(report),
    '## Where something else is better',
    wins.length === 0 ? 'In no case that was measured.' : list(wins),
    ...report.cases.flatMap(section),
    ...(report.skipped.length === 0
      ? []
      : ['## Left out', list(report.skipped.map(({ what, reason }) => `${what}: ${reason}`))]),
    '## Environment',
    table(['What', 'How it was'], environmentRows(report)),
  ];
  return `${parts.join('\n\n')}\n`;
}

function goals(report: Report): string {
  return table(
    ['Ratio', 'Value', 'Goal', 'Verdict', 'What is divided'],
    report.goals.map((goal) => [
      `\`${goal.name}\``,
      goal.value === null ? '' : figure(goal.value),
      goalText(goal),
      goalVerdict(goal),
      goal.note === undefined ? goal.what : `${goal.what} (${goal.note})`,
    ]),
  );
}

function section(each: CaseReport): string[] {
  const columns = columnsOf(each);
  const rows = each.results.map((result) => columns.map(({ cell }) => cell(result)));
  const heads = columns.map(({ head }) => head);
  return [
    `## ${each.title}`,
    each.description,
    rows.length === 0 ? 'No subject could run.' : table(heads, rows),
  ];
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cellText).join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item.replaceAll('\n', ' ')}`).join('\n');
}

function cellText(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
