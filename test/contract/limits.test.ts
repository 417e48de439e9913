import { describe, expect, it } from 'vitest';
import { WafStateError } from '../../src/contract/errors.js';
import { DEFAULT_LIMITS, LIMIT_NAMES, type LimitName, resolveLimits } from '../../src/contract/limits.js';

const RANGES: Record<LimitName, [initial: number, least: number, most: number]> = {
  keyBytes: [1024, 1, 1024],
  nameBytes: [1024, 1, 65_535],
  valueBytes: [32_768, 1, 16_777_216],
  variables: [4096, 1, 65_535],
  recordBytes: [2_097_152, 1, 67_108_864],
  mutations: [4096, 1, 65_535],
  retryAttempts: [8, 0, 1000],
  cleanupRecords: [128, 1, 1_000_000],
  cleanupVariables: [4096, 1, 1_000_000_000],
};

function refused(overrides: object): WafStateError {
  try {
    resolveLimits(overrides);
  } catch (error) {
    if (error instanceof WafStateError) return error;
    throw error;
  }
  throw new Error(`accepted ${JSON.stringify(overrides)}`);
}

describe('resolveLimits', () => {
  it('gives the defaults', () => {
    expect(resolveLimits()).toEqual(DEFAULT_LIMITS);
    expect([...LIMIT_NAMES].sort()).toEqual(Object.keys(RANGES).sort());
  });

  it('refuses what is no object', () => {
    for (const given of [null, 5, 'variables']) {
      expect(refused(given as never)).toMatchObject({ code: 'invalid_limit' });
    }
  });

  it('leaves undefined at the default', () => {
    expect(resolveLimits({ variables: undefined } as object).variables).toBe(4096);
  });

  it.each(Object.entries(RANGES))(
    '%s: default, least and most, and one beyond either',
    (name, [initial, least, most]) => {
      expect(DEFAULT_LIMITS[name as LimitName]).toBe(initial);
      expect(resolveLimits({ [name]: least })[name as LimitName]).toBe(least);
      expect(resolveLimits({ [name]: most })[name as LimitName]).toBe(most);
      for (const value of [least - 1, most + 1]) {
        const error = refused({ [name]: value });
        expect(error.code).toBe('invalid_limit');
        expect(error.message).toContain(`${name} must be an integer from ${least} to ${most}, got ${value}`);
        expect(error.details).toEqual({ option: name, limit: value < least ? least : most, actual: value });
      }
    },
  );

  it.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', 10n, null, {}])('refuses %s', (value) => {
    expect(refused({ variables: value }).code).toBe('invalid_limit');
  });

  it('refuses unknown names, inherited ones too, and lists the known', () => {
    for (const name of ['variable', 'toString', 'constructor']) {
      const error = refused({ [name]: 1 });
      expect(error.code).toBe('invalid_limit');
      expect(error.message).toContain('recordBytes');
    }
  });

  it('gives what nobody can change', () => {
    expect(Object.isFrozen(resolveLimits({ variables: 5 }))).toBe(true);
    expect(Object.isFrozen(DEFAULT_LIMITS)).toBe(true);
  });
});
