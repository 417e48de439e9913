import { describe, expect, it } from 'vitest';
import { median, spread } from '../../bench/statistics.js';

describe('statistics of rounds', () => {
  it('takes the middle one, whatever the order', () => {
    expect(median([9, 1, 5])).toBe(5);
  });

  it('takes the mean of the middle two of an even count', () => {
    expect(median([4, 1, 2, 9])).toBe(3);
  });

  it('has no median of nothing', () => {
    expect(() => median([])).toThrow(RangeError);
  });

  it('keeps the least and the greatest beside it', () => {
    expect(spread([30, 10, 20])).toEqual({ median: 20, low: 10, high: 30 });
  });
});
