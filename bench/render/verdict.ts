import type { CaseReport, Report, Result, Role } from '../report.js';
import { figure } from './format.js';

/** The sentences that say where another subject than wafstate is the better one: the report leaves none out. */
export function otherWins(report: Report): string[] {
  return report.cases.flatMap((each) => groupsOf(each).flatMap((group) => verdict(each, group) ?? []));
}

/** Results that may be compared with each other. */
export function groupsOf({ grouped, results }: CaseReport): Result[][] {
  if (!grouped) return [[...results]];
  const groups = new Map<string, Result[]>();
  for (const result of results) {
    const group = groups.get(result.setting) ?? [];
    group.push(result);
    groups.set(result.setting, group);
  }
  return [...groups.values()];
}

interface Winner {
  readonly result: Result;
  readonly value: number;
}

function verdict(each: CaseReport, group: readonly Result[]): string | undefined {
  const other = bestOf(each, group, 'other');
  const own = bestOf(each, group, 'wafstate');
  if (other === undefined || own === undefined || !isBetter(each, other.value, own.value)) return undefined;
  const where = each.grouped ? `${each.title}, ${own.result.setting}` : each.title;
  const factor = figure(Math.max(other.value / own.value, own.value / other.value));
  const measure = {
    rates: 'operations per second',
    latency: 'µs at p99',
    figures: each.unit,
    growth: each.unit,
  };
  return (
    `${where}: ${other.result.title} is better than ${own.result.title}, the best of wafstate, by a factor of ${factor} ` +
    `(${figure(other.value)} against ${figure(own.value)} ${measure[each.chart]}).`
  );
}

function bestOf(each: CaseReport, group: readonly Result[], role: Role): Winner | undefined {
  let best: Winner | undefined;
  for (const result of group) {
    const value = result.role === role ? comparedValue(each, result) : undefined;
    if (value !== undefined && (best === undefined || isBetter(each, value, best.value)))
      best = { result, value };
  }
  return best;
}

function isBetter({ chart }: CaseReport, value: number, than: number): boolean {
  return chart === 'rates' ? value > than : value < than;
}

/** What a case compares; nothing of a latency at a rate that was not kept up with. */
function comparedValue({ chart }: CaseReport, result: Result): number | undefined {
  if (chart === 'rates') return result.opsPerSecond?.median;
  if (chart === 'latency') return result.note === undefined ? result.latency?.p99 : undefined;
  return result.figure?.median;
}
