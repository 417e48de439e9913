/** A logarithmic axis: its marks, and where a value lies. */
export interface LogScale {
  /** Ascending, both ends included. */
  readonly ticks: readonly number[];
  /** Pixels; what lies outside is held at the ends. */
  position(value: number): number;
}

/** Below so many powers of ten the marks at 2 and 5 have room. */
const FINE_BELOW = 100;
/** REQUIRES: at least one value, all above 0. The axis begins and ends on a mark. */
export function logScale(values: readonly number[], from: number, to: number): LogScale {
  const least = Math.min(...values);
  const most = Math.max(...values);
  const steps = most / least < FINE_BELOW ? [1, 2, 5] : [1];
  const marks: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)) + 1; power++) {
    for (const step of steps) marks.push(step * 10 ** power);
  }
  const first = marks.findLastIndex((mark) => mark <= least);
  const last = marks.findIndex((mark) => mark >= most);
  // One value that is a mark itself: the axis goes on to the next one.
  const ticks = marks.slice(Math.max(0, first), Math.max(last, first + 1) + 1);
  const low = Math.log10(ticks[0] as number);
  const high = Math.log10(ticks.at(-1) as number);
  return {
    ticks,
    position: (value) => {
      const share = (Math.log10(value) - low) / (high - low);
      return from + Math.min(1, Math.max(0, share)) * (to - from);
    },
  };
}
