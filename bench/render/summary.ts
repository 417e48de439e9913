import type { Goal, Report } from '../report.js';
import { figure, mebibytes } from './format.js';

/** What both pages say about the run as a whole. */

export function environmentRows({ environment, generated, mode, seconds, only }: Report): [string, string][] {
  const { p50, p99 } = environment.fsyncMicroseconds;
  const [before, after] = environment.loadAverage;
  const versions = Object.entries(environment.versions).map(([name, version]) => `${name} ${version}`);
  return [
    [
      'Run',
      `${mode}${only === undefined ? '' : `, only ${only.join(', ')}`}, ${Math.round(seconds)} s, ${generated}`,
    ],
    ['Processor', `${environment.cpu}, ${environment.cores} cores`],
    ['Memory', mebibytes(environment.memoryBytes)],
    ['System', environment.kernel],
    [
      'File system',
      `${environment.filesystem}; one page synced: ${figure(p50)} µs (p50), ${figure(p99)} µs (p99)`,
    ],
    ['Load average', `${before.toFixed(2)} before, ${after.toFixed(2)} after`],
    ['Addon', environment.native],
    ['Versions', versions.join(', ')],
  ];
}

export function goalVerdict({ met }: Goal): 'pass' | 'short' | 'not measured' {
  return met === null ? 'not measured' : met ? 'pass' : 'short';
}

export function goalText({ direction, goal }: Goal): string {
  return `${direction} ${figure(goal)}`;
}

/** What the figures of this run cannot carry, or `undefined`. */
export function caution({ mode }: Report): string | undefined {
  return mode === 'quick'
    ? 'A quick run: short rounds, smaller tables. It shows orders of magnitude; take figures from a full run on a quiet machine.'
    : undefined;
}
