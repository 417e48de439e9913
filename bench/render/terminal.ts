import type { Report } from '../report.js';
import { figure } from './format.js';
import { caution, goalText, goalVerdict } from './summary.js';
import { otherWins } from './verdict.js';

/** The end of a run in a terminal: the goals, who else is better, what is missing. The rest is in the files. */
export function renderTerminal(report: Report): string {
  const rows = report.goals
    .filter(({ value }) => value !== null)
    .map((goal) => [goal.name, figure(goal.value ?? 0), goalText(goal), goalVerdict(goal)]);
  const wins = otherWins(report);
  const note = caution(report);
  const parts = [
    ...(rows.length === 0 ? [] : [aligned(rows)]),
    ...(wins.length === 0 ? [] : [`Where something else is better:\n${indented(wins)}`]),
    ...(report.skipped.length === 0
      ? []
      : [`Left out:\n${indented(report.skipped.map(({ what, reason }) => `${what}: ${reason}`))}`]),
    ...(note === undefined ? [] : [`${note}\n`]),
  ];
  return parts.join('\n');
}

function aligned(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0));
  const [name, value, goal] = [width(0), width(1), width(2)];
  return rows
    .map(
      ([a = '', b = '', c = '', d = '']) =>
        `${a.padEnd(name)}  ${b.padStart(value)}  ${c.padEnd(goal)}  ${d}\n`,
    )
    .join('');
}

function indented(items: readonly string[]): string {
  return items.map((item) => `  ${item.replaceAll('\n', ' ')}\n`).join('');
}
