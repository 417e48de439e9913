import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CASES } from './cases/all.js';
import { describeEnvironment, loadAverage } from './environment.js';
import { judgeGoals } from './goals.js';
import { buildLimit } from './limit/program.js';
import { renderHtml } from './render/html.js';
import { renderMarkdown } from './render/markdown.js';
import type { CaseReport, Report } from './report.js';
import { RunContext } from './run-context.js';
import { FULL, QUICK, type Scale } from './scale.js';
import { PEERS_VARIABLE } from './subjects/peers.js';

export interface RunOptions {
  readonly mode: 'full' | 'quick';
  /** Ids of the cases to run; none = all. */
  readonly only: readonly string[];
  /** Where report.json, report.md and report.html go; the state of the subjects lives there too while they run. */
  readonly output: string;
  /** Where the packages that wafstate is compared with are, see `setUpPeers`. */
  readonly peers: string;
  readonly progress: (text: string) => void;
}

/** The cases there are, for a help text and for checking what was asked. */
export function caseIds(): { readonly id: string; readonly title: string }[] {
  return CASES.map(({ id, title }) => ({ id, title }));
}

/** Runs the cases and writes the report. A case that fails is in `skipped`, and the others go on. */
export async function runBenchmarks(options: RunOptions): Promise<Report> {
  const { mode, only, output, peers, progress } = options;
  process.env[PEERS_VARIABLE] = peers;
  const scale = mode === 'full' ? FULL : QUICK;
  mkdirSync(output, { recursive: true });
  const directory = mkdtempSync(join(output, 'data-'));
  try {
    const report = await measure({ scale, only, peers, directory, progress });
    writeFileSync(join(output, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    writeFileSync(join(output, 'report.md'), renderMarkdown(report));
    writeFileSync(join(output, 'report.html'), renderHtml(report));
    return report;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measure({
  scale,
  only,
  peers,
  directory,
  progress,
}: {
  readonly scale: Scale;
  readonly only: readonly string[];
  readonly peers: string;
  readonly directory: string;
  readonly progress: (text: string) => void;
}): Promise<Report> {
  const start = performance.now();
  const before = loadAverage();
  const environment = describeEnvironment(directory);
  progress('building the C program');
  // Kept from run to run, but not among the reports.
  const limit = tryBuildLimit(join(peers, 'node_modules', '.limit'));
  const context = new RunContext({ scale, directory, limit: limit.program, progress });
  if (limit.program === undefined) context.skip('C on liblmdb (the limit)', limit.reason);
  const chosen = CASES.filter(({ id }) => only.length === 0 || only.includes(id));
  const cases: CaseReport[] = [];
  for (const { id, title, chart, unit, grouped = false, describe, run } of chosen) {
    context.begin(`${cases.length + 1}/${chosen.length} ${title}`);
    try {
      const results = await run(context);
      const description = describe(scale);
      cases.push({ id, title, description, chart, ...(unit !== undefined && { unit }), grouped, results });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      context.skipped.push({ what: `case ${id}`, reason, failed: true });
    }
  }
  const goals = judgeGoals(cases);
  return {
    schema: 1,
    generated: new Date().toISOString(),
    mode: scale.mode,
    ...(only.length > 0 && { only }),
    seconds: (performance.now() - start) / 1000,
    environment: { ...environment, loadAverage: [before, loadAverage()] },
    cases,
    skipped: context.skipped,
    ratios: Object.fromEntries(goals.map(({ name, value }) => [name, value])),
    goals,
  };
}

function tryBuildLimit(directory: string): { program: string } | { program: undefined; reason: string } {
  try {
    return { program: buildLimit(directory) };
  } catch (error) {
    return { program: undefined, reason: error instanceof Error ? error.message : String(error) };
  }
}
