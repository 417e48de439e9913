/** The middle of a set of rounds and how far they lay apart: what every figure of the report is. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** REQUIRES: at least one value. An even count has the mean of its two middle values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) throw new RangeError('the median of no values is asked for');
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2;
}

/** Median, least and greatest. With the few rounds that a benchmark has, quartiles would say less than they seem to. */
export function spread(values: readonly number[]): Spread {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) };
}
