import type { CaseReport, Result } from '../report.js';
import { figure, mebibytes, withSpread } from './format.js';

/** A column of a case's table, the same in Markdown and in HTML. */
export interface Column {
  readonly head: string;
  /** Empty where the result has no such figure. */
  cell(result: Result): string;
}

/** The columns for which at least one result has a figure. */
export function columnsOf({ unit, results }: CaseReport): Column[] {
  return allColumns(unit ?? '').filter(({ cell }) => results.some((result) => cell(result) !== ''));
}

function allColumns(unit: string): Column[] {
  return [
    column('Subject', ({ title }) => title),
    column('Setting', ({ setting }) => setting),
    column(unit, (result) => result.figure && withSpread(result.figure)),
    column('Operations per second', ({ opsPerSecond }) => opsPerSecond && withSpread(opsPerSecond)),
    column('p50 µs', ({ latency }) => latency && figure(latency.p50)),
    column('p99 µs', ({ latency }) => latency && figure(latency.p99)),
    column('p99.9 µs', ({ latency }) => latency && figure(latency.p999)),
    column('Main thread µs/op', ({ mainThreadMicroseconds: cpu }) => cpu && figure(cpu.median)),
    column('Resident memory', ({ residentBytes }) => residentBytes && mebibytes(residentBytes)),
    column('Note', ({ note }) => note),
  ];
}

function column(head: string, text: (result: Result) => string | 0 | undefined): Column {
  return { head, cell: (result) => text(result) || '' };
}
