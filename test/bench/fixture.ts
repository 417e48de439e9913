import type { CaseReport, Report, Result } from '../../bench/report.js';

const exactly = (value: number) => ({ median: value, low: value * 0.9, high: value * 1.1 });

export function rate(
  subject: string,
  setting: string,
  opsPerSecond: number,
  role: Result['role'] = 'wafstate',
): Result {
  return { subject, title: `the ${subject}`, role, setting, opsPerSecond: exactly(opsPerSecond) };
}

export function valued(
  subject: string,
  setting: string,
  value: number,
  role: Result['role'] = 'wafstate',
): Result {
  return { subject, title: `the ${subject}`, role, setting, figure: exactly(value) };
}

export function reportCase(
  id: string,
  results: readonly Result[],
  rest: Partial<CaseReport> = {},
): CaseReport {
  return {
    id,
    title: `Case ${id}`,
    description: `What ${id} does.`,
    chart: 'rates',
    grouped: false,
    results,
    ...rest,
  };
}

export function report(rest: Partial<Report> = {}): Report {
  return {
    schema: 1,
    generated: '2026-01-31T12:00:00.000Z',
    mode: 'full',
    seconds: 12,
    environment: {
      cpu: 'A processor',
      cores: 2,
      memoryBytes: 2 ** 34,
      kernel: 'Linux 6',
      filesystem: 'ext4',
      fsyncMicroseconds: { p50: 300, p99: 900, p999: 1000 },
      loadAverage: [0.1, 1.5],
      versions: { node: '20.20.2' },
      native: 'loaded',
    },
    cases: [],
    skipped: [],
    ratios: {},
    goals: [],
    ...rest,
  };
}
