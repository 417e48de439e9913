import type { Percentiles } from './histogram.js';
import type { Spread } from './statistics.js';

/** What report.json holds. A figure that was not measured is absent, never 0. */
export interface Report {
  readonly schema: 1;
  /** ISO 8601, UTC. */
  readonly generated: string;
  readonly mode: 'full' | 'quick';
  /** The cases that were asked for where not all were. */
  readonly only?: readonly string[];
  readonly seconds: number;
  readonly environment: Environment;
  readonly cases: readonly CaseReport[];
  /** What was left out, and why. */
  readonly skipped: readonly Skipped[];
  /** Each ratio of `goals` by its name; null where a side of it was not measured. */
  readonly ratios: Readonly<Record<string, number | null>>;
  readonly goals: readonly Goal[];
}

export interface Environment {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  readonly filesystem: string;
  /** Of 4 KiB appended and fdatasync'ed in the benchmark's directory, microseconds. */
  readonly fsyncMicroseconds: Percentiles;
  /** One-minute load average before and after: what else the machine was doing. */
  readonly loadAverage: readonly [before: number, after: number];
  readonly versions: Readonly<Record<string, string>>;
  /** Whether the addon was loaded, or why not. */
  readonly native: string;
}

export interface CaseReport {
  readonly id: string;
  readonly title: string;
  /** What is done, on what, how often: enough to judge the figures. */
  readonly description: string;
  /** How the case is drawn. `rates`: operations per second, more is better. */
  readonly chart: 'rates' | 'figures' | 'latency' | 'growth';
  /** Of `figures` and `growth`: what the figure is, less is better. */
  readonly unit?: string;
  /** Results are compared within a setting; else all with all. */
  readonly grouped: boolean;
  readonly results: readonly Result[];
}

/** `bound` is what the machine allows, such as the C program: it is no competitor, and no one can buy it. */
export type Role = 'wafstate' | 'other' | 'bound';

/** One subject in one setting. */
export interface Result {
  readonly subject: string;
  readonly title: string;
  readonly role: Role;
  /** What tells two results of one subject apart: `1000 callers`. */
  readonly setting: string;
  /** The setting as a number, where the chart has it on an axis: operations offered per second, records held. */
  readonly at?: number;
  /** Of rounds that took turns with those of the other subjects. */
  readonly opsPerSecond?: Spread;
  /** Microseconds. */
  readonly latency?: Percentiles;
  /** CPU of the main thread per operation, microseconds; the load generator's share is in it. */
  readonly mainThreadMicroseconds?: Spread;
  readonly residentBytes?: number;
  /** The figure of a case whose chart is `figures` or `growth`, in its unit. */
  readonly figure?: Spread;
  /** What else there is to say of this result: saturated, updates lost. */
  readonly note?: string;
}

export interface Skipped {
  readonly what: string;
  readonly reason: string;
  /** A case that broke off, as against a subject that is not there. */
  readonly failed?: true;
}

export interface Goal {
  readonly name: string;
  readonly what: string;
  readonly direction: 'at least' | 'at most';
  readonly goal: number;
  readonly value: number | null;
  /** null where there is no value. */
  readonly met: boolean | null;
  readonly note?: string;
}
