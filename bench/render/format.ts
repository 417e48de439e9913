import type { Spread } from '../statistics.js';

/** Three significant digits, thousands set apart, no exponent: 1,234,567 is 1,230,000. */
export function figure(value: number): string {
  if (value === 0) return '0';
  const digits = Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return Number(value.toPrecision(3)).toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** For an axis: 20k, 1.5M. */
export function short(value: number): string {
  for (const [unit, suffix] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ] as const) {
    if (value >= unit) return `${Number((value / unit).toPrecision(3))}${suffix}`;
  }
  return String(Number(value.toPrecision(3)));
}

/** `1,230 (1,100 to 1,300)`, or the one figure where there is no spread. */
export function withSpread({ median, low, high }: Spread): string {
  return low === high ? figure(median) : `${figure(median)} (${figure(low)} to ${figure(high)})`;
}

export function mebibytes(bytes: number): string {
  return `${figure(bytes / 2 ** 20)} MiB`;
}
