import type { CaseReport, Result } from './report.js';
import type { RunContext } from './run-context.js';
import type { Scale } from './scale.js';

/** One comparison of the report: a file of bench/cases each. */
export interface BenchCase {
  readonly id: string;
  readonly title: string;
  readonly chart: CaseReport['chart'];
  readonly unit?: string;
  /** Results are compared within a setting; else all with all. */
  readonly grouped?: true;
  /** What is done, on what, how often. */
  describe(scale: Scale): string;
  run(context: RunContext): Promise<Result[]>;
}
