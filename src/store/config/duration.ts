/** Units of a duration in milliseconds, the longest first. */
const UNITS = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const;

const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[hms]))+$/;
const PART = /(\d+(?:\.\d+)?)(ms|[hms])/g;

/** Milliseconds of a duration such as `250ms`, `5m` or `1h30m`; undefined where it is none. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (text.length > 100 || !DURATION.test(text)) return undefined;
  let milliseconds = 0;
  for (const [, amount, unit] of text.matchAll(PART)) {
    milliseconds += Number(amount) * UNITS[unit as keyof typeof UNITS];
  }
  return milliseconds;
}

/** The shortest text that `parseDuration` reads as this; `0s` for none. */
export function formatDuration(milliseconds: number): string {
  let text = '';
  let rest = milliseconds;
  for (const [unit, size] of Object.entries(UNITS)) {
    const amount = unit === 'ms' ? rest : Math.floor(rest / size);
    if (amount === 0) continue;
    text += `${amount}${unit}`;
    rest -= amount * size;
  }
  return text === '' ? '0s' : text;
}
