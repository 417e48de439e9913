import type { LimitRule } from './judge.js';
import { print } from './output.js';
import { columns, counted, isoTime, printable } from './terminal.js';

/** What a replay found. Times in nanoseconds since the epoch. */
export interface ReplayReport {
  readonly source: string;
  readonly lines: number;
  readonly malformed: number;
  readonly transactions: number;
  readonly blocked: readonly {
    readonly address: string;
    /** The count that was reached when the block began. */
    readonly requests: number;
    readonly at: bigint;
    readonly until: bigint;
  }[];
  /** Addresses that met a block of an earlier run. */
  readonly stillBlocked: number;
  /** Requests by address. */
  readonly talkers: ReadonlyMap<string, number>;
  /** The newest time seen; undefined where no line had one. */
  readonly clock: bigint | undefined;
  readonly rule: LimitRule;
  readonly engine: string;
  readonly path: string | undefined;
  readonly native: boolean;
  /** Whether SIGINT ended it before the log did. */
  readonly interrupted: boolean;
  /** Whether state of an earlier run was there. */
  readonly continued: boolean;
  readonly seconds: number;
}

const TOP = 10;

export function reportReplay(report: ReplayReport, json: boolean): void {
  print(json ? `${JSON.stringify(forPrograms(report))}\n` : forPeople(report));
}

function forPrograms(report: ReplayReport) {
  const {
    lines,
    malformed,
    transactions,
    blocked,
    stillBlocked,
    continued,
    interrupted,
    engine,
    native,
    seconds,
  } = report;
  return {
    lines,
    malformed,
    transactions,
    blocked: blocked.map(({ address, requests, at, until }) => ({
      address,
      requests,
      at: isoTime(at),
      until: isoTime(until),
    })),
    continued,
    stillBlocked,
    interrupted,
    engine,
    native,
    seconds,
  };
}

function forPeople(report: ReplayReport): string {
  const { limit, window, block } = report.rule;
  const number = (value: number) => value.toLocaleString('en');
  const implementation = report.engine === 'memory' ? '' : report.native ? ', native' : ', TypeScript record';
  const parts = [
    `Judged ${number(report.lines)} lines of ${printable(report.source)}${report.malformed > 0 ? `, ${number(report.malformed)} of them malformed` : ''}, ` +
      `in ${report.seconds.toFixed(2)} s: ${number(Math.round(report.transactions / report.seconds))} transactions a second (${report.engine}${implementation}).\n`,
  ];
  if (report.interrupted) parts.push('Interrupted: what follows is of these lines alone.\n');
  if (report.continued) {
    parts.push(
      `Went on from the state of an earlier run: ${counted(report.stillBlocked, 'address')} met a block that still stands.\n`,
    );
  }

  parts.push(`\nBlocked for ${block} s, each for more than ${limit} requests within ${window} s:\n`);
  if (report.blocked.length === 0) parts.push('  nobody\n');
  else {
    const rows = report.blocked.map(({ address, requests, at, until }) => [
      `  ${printable(address)}`,
      String(requests),
      isoTime(at),
      isoTime(until),
    ]);
    parts.push(columns([['  address', 'requests', 'at', 'until'], ...rows]));
  }

  const top = [...report.talkers].sort((a, b) => b[1] - a[1]).slice(0, TOP);
  if (top.length > 0) {
    parts.push('\nTop talkers:\n');
    const rows = top.map(([address, count]) => [
      `  ${printable(address)}`,
      number(count),
      `${((100 * count) / report.lines).toFixed(1)} %`,
    ]);
    parts.push(columns([['  address', 'requests', 'share'], ...rows]));
  }

  if (report.path !== undefined && report.clock !== undefined) {
    parts.push(
      `\nThe state is in ${report.path}, as of ${isoTime(report.clock)}. Run replay again and it goes on from there;\n` +
        `look into it with: npx wafstate list --path ${report.path}\n`,
    );
  }
  return parts.join('');
}
