import { inspect } from 'node:util';
import type { Fields } from './case-file.js';

/**
 * What is wrong with a result, undefined where it is as expected. What is expected is a subset: fields that it does not name may have any
 * value. `{"$match": "…"}` is a regular expression for text.
 */
export function mismatch(expected: unknown, actual: unknown, path = 'result'): string | undefined {
  if (isPattern(expected)) {
    const matches = typeof actual === 'string' && new RegExp(expected.$match, 'u').test(actual);
    return matches ? undefined : `${path} must match ${expected.$match}, got ${inspect(actual)}`;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) {
      return `${path} must be ${inspect(expected)}, got ${inspect(actual)}`;
    }
    return first(expected.map((each, index) => mismatch(each, actual[index], `${path}[${index}]`)));
  }
  if (typeof expected === 'object' && expected !== null) {
    if (typeof actual !== 'object' || actual === null) {
      return `${path} must be ${inspect(expected)}, got ${inspect(actual)}`;
    }
    return first(
      Object.entries(expected).map(([field, value]) =>
        mismatch(value, (actual as Fields)[field], `${path}.${field}`),
      ),
    );
  }
  return Object.is(expected, actual)
    ? undefined
    : `${path} must be ${inspect(expected)}, got ${inspect(actual)}`;
}

function first(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined);
}

function isPattern(value: unknown): value is { readonly $match: string } {
  return typeof value === 'object' && value !== null && '$match' in value;
}
