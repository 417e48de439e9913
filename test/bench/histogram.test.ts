import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Histogram } from '../../bench/histogram.js';

describe('histogram', () => {
  it('has nothing to say before the first value', () => {
    expect(new Histogram().percentiles()).toEqual({ p50: 0, p99: 0, p999: 0 });
  });

  it('is exact below 256', () => {
    const histogram = new Histogram();
    for (let value = 1; value <= 100; value++) histogram.record(value);
    expect(histogram.percentile(50)).toBe(50);
    expect(histogram.percentile(99)).toBe(99);
    expect(histogram.percentile(99.9)).toBe(100);
  });

  it('holds values at its bounds', () => {
    const histogram = new Histogram();
    histogram.record(-5);
    expect(histogram.percentile(100)).toBe(0);
    histogram.record(Number.POSITIVE_INFINITY);
    expect(histogram.percentile(100)).toBe(2 ** 52 - 1);
  });

  it('is never under the exact percentile and at most 1 in 128 above it', () => {
    const values = fc.array(
      fc.nat(2 ** 30 - 1).chain((high) => fc.integer({ min: 0, max: 22 }).map((bits) => high * 2 ** bits)),
      {
        minLength: 1,
        maxLength: 300,
      },
    );
    fc.assert(
      fc.property(values, fc.constantFrom(1, 50, 90, 99, 99.9, 100), (recorded, percent) => {
        const histogram = new Histogram();
        for (const value of recorded) histogram.record(value);
        const sorted = [...recorded].sort((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil((percent / 100) * sorted.length)) - 1] as number;
        const told = histogram.percentile(percent);
        expect(told).toBeGreaterThanOrEqual(exact);
        expect(told).toBeLessThanOrEqual(exact + exact / 128);
      }),
    );
  });
});
