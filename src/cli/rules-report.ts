import type { RulesTally } from './judge-by-rules.js';
import { columns, isoTime, printable } from './terminal.js';

/** What a replay by rules found. */
export interface RulesReport extends RulesTally {
  readonly engine: string;
  readonly native: boolean;
  readonly seconds: number;
}

export function reportRules(report: RulesReport, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(forPrograms(report))}\n` : forPeople(report));
}

function forPrograms({
  lines,
  malformed,
  transactions,
  rules,
  refused,
  engine,
  native,
  seconds,
}: RulesReport) {
  const times = ({ first, last }: { first: bigint; last: bigint }) => ({
    first: isoTime(first),
    last: isoTime(last),
  });
  return {
    lines,
    malformed,
    transactions,
    rules: rules.map((rule) => ({ ...rule, ...times(rule) })),
    refused: refused.map((client) => ({ ...client, ...times(client) })),
    engine,
    native,
    seconds,
  };
}

function forPeople(report: RulesReport): string {
  const number = (value: number) => value.toLocaleString('en');
  const parts = [
    `Judged ${number(report.lines)} lines${report.malformed > 0 ? `, ${number(report.malformed)} of them malformed` : ''}, ` +
      `in ${report.seconds.toFixed(2)} s: ${number(Math.round(report.transactions / report.seconds))} transactions a second (${report.engine}).\n`,
  ];
  if (report.interrupted) parts.push('Interrupted: what follows is of these lines alone.\n');
  parts.push('\nRules that log or refuse, and matched:\n');
  if (report.rules.length === 0) parts.push('  none\n');
  else {
    const rows = report.rules.map(({ id, file, line, message, matched, refused, first }) => [
      `  ${id ?? `${file}:${line}`}`,
      number(matched),
      number(refused),
      isoTime(first),
      printable(message ?? ''),
    ]);
    parts.push(columns([['  rule', 'matched', 'refused', 'first', 'message'], ...rows]));
  }
  parts.push('\nRefused:\n');
  if (report.refused.length === 0) parts.push('  nobody\n');
  else {
    const rows = report.refused.map(({ address, requests, first, last }) => [
      `  ${printable(address)}`,
      number(requests),
      isoTime(first),
      isoTime(last),
    ]);
    parts.push(columns([['  address', 'requests', 'first', 'last'], ...rows]));
  }
  return parts.join('');
}
