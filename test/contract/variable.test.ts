import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../src/contract/bytes.js';
import { INT64_MAX, INT64_MIN, saturatingAdd } from '../../src/contract/clock.js';
import type { VariableMutation } from '../../src/contract/mutation.js';
import type { Variable } from '../../src/contract/snapshot.js';
import {
  applyToVariable,
  isExpired,
  isVisible,
  OVERFLOW,
  parseInteger,
} from '../../src/contract/variable.js';

const name = 'n' as ByteString;
const bytes = (text: string) => text as ByteString;
const set = (value: string): VariableMutation => ({ type: 'set', name, value: bytes(value) });
const add = (delta: bigint): VariableMutation => ({ type: 'add', name, delta });
const subtract = (delta: bigint): VariableMutation => ({ type: 'subtract', name, delta });
const expire = (deadline: bigint, onlyIfNone = false): VariableMutation => ({
  type: 'expire',
  name,
  deadline,
  onlyIfNone,
});
const deprecate = (amount: bigint, period: bigint, at: bigint): VariableMutation => ({
  type: 'deprecate',
  name,
  amount,
  period,
  at,
});
const remove: VariableMutation = { type: 'remove', name };

const stored = (value: string, deadline?: bigint, clock = 0n): Variable => ({
  value: bytes(value),
  deadline,
  clock,
});

describe('parseInteger', () => {
  it.each([
    ['0', 0n],
    ['12', 12n],
    ['-12', -12n],
    ['+12', 12n],
    ['12x', 12n],
    ['1.9', 1n],
    ['abc', 0n],
    ['', 0n],
    ['-', 0n],
    ['+', 0n],
    ['+-1', 0n],
    ['--1', 0n],
    [' \t\n\v\f\r12', 12n],
    ['\u00a012', 0n],
    ['1 2', 1n],
    ['- 1', 0n],
    ['007', 7n],
    ['-007', -7n],
    ['00000000000000000000000000000000000000000000000042', 42n],
    ['0x10', 0n],
    ['1e3', 1n],
    ['9223372036854775807', INT64_MAX],
    ['9223372036854775808', 0n],
    ['-9223372036854775808', INT64_MIN],
    ['-9223372036854775809', 0n],
    ['99999999999999999999', 0n],
    ['\u0661', 0n],
  ])('%j counts as %s', (text, value) => {
    expect(parseInteger(bytes(text))).toBe(value);
  });

  it('takes an absent value as 0', () => {
    expect(parseInteger(undefined)).toBe(0n);
  });

  it('reads every 64-bit integer back', () => {
    fc.assert(
      fc.property(fc.bigInt(INT64_MIN, INT64_MAX), (value) => {
        expect(parseInteger(bytes(`${value}`))).toBe(value);
      }),
    );
  });
});

describe('visibility', () => {
  it('ends at the deadline itself', () => {
    expect(isExpired(stored('1', 10n), 9n)).toBe(false);
    expect(isExpired(stored('1', 10n), 10n)).toBe(true);
    expect(isExpired(stored('1'), INT64_MAX)).toBe(false);
  });

  it('needs a value', () => {
    expect(isVisible({ value: undefined, deadline: 10n, clock: undefined }, 5n)).toBe(false);
    expect(isVisible(stored('1', 10n), 5n)).toBe(true);
    expect(isVisible(stored('1', 10n), 10n)).toBe(false);
  });
});

describe('an expired variable that a mutation touches', () => {
  it('counts as absent: a counter restarts at its delta, with neither deadline nor clock of before', () => {
    expect(applyToVariable(stored('7', 10n, 1n), add(1n), 10n)).toEqual({
      value: '1',
      deadline: undefined,
      clock: 10n,
    });
  });

  it('is gone after deprecate and remove', () => {
    expect(applyToVariable(stored('7', 10n), deprecate(1n, 1n, 5n), 10n)).toBeUndefined();
    expect(applyToVariable(stored('7', 10n), remove, 10n)).toBeUndefined();
  });

  it('is only a deadline after expire', () => {
    expect(applyToVariable(stored('7', 10n), expire(20n), 10n)).toEqual({
      value: undefined,
      deadline: 20n,
      clock: undefined,
    });
  });
});

describe('set', () => {
  it('creates, and starts the decay clock', () => {
    expect(applyToVariable(undefined, set('x'), 5n)).toEqual({ value: 'x', deadline: undefined, clock: 5n });
  });

  it('replaces the value and keeps an unexpired deadline and the clock', () => {
    expect(applyToVariable(stored('x', 10n, 1n), set('y'), 5n)).toEqual({
      value: 'y',
      deadline: 10n,
      clock: 1n,
    });
  });

  it('keeps a deadline that was waiting for it', () => {
    const waiting = { value: undefined, deadline: 10n, clock: undefined };
    expect(applyToVariable(waiting, set('y'), 5n)).toEqual({ value: 'y', deadline: 10n, clock: 5n });
  });
});

describe('remove', () => {
  it('takes value, deadline and clock', () => {
    expect(applyToVariable(stored('x', 10n), remove, 5n)).toBeUndefined();
    expect(applyToVariable(undefined, remove, 5n)).toBeUndefined();
  });
});

describe('add and subtract', () => {
  it('count what is missing, only a deadline, or no number as 0', () => {
    expect(applyToVariable(undefined, add(3n), 5n)).toMatchObject({ value: '3' });
    expect(applyToVariable({ value: undefined, deadline: 9n, clock: undefined }, subtract(3n), 5n)).toEqual({
      value: '-3',
      deadline: 9n,
      clock: 5n,
    });
    expect(applyToVariable(stored('abc'), add(3n), 5n)).toMatchObject({ value: '3' });
  });

  it('read a decimal prefix and write a canonical decimal', () => {
    expect(applyToVariable(stored(' +12x'), add(1n), 5n)).toMatchObject({ value: '13' });
    expect(applyToVariable(stored('007'), add(0n), 5n)).toMatchObject({ value: '7' });
  });

  it('are not clamped at zero', () => {
    expect(applyToVariable(stored('1'), subtract(3n), 5n)).toMatchObject({ value: '-2' });
  });

  it('reach the bounds of 64 bits and no further', () => {
    expect(applyToVariable(stored(`${INT64_MAX - 1n}`), add(1n), 5n)).toMatchObject({
      value: `${INT64_MAX}`,
    });
    expect(applyToVariable(stored(`${INT64_MAX}`), add(1n), 5n)).toBe(OVERFLOW);
    expect(applyToVariable(stored(`${INT64_MIN}`), subtract(1n), 5n)).toBe(OVERFLOW);
    expect(applyToVariable(stored('-1'), subtract(INT64_MIN), 5n)).toMatchObject({ value: `${INT64_MAX}` });
    expect(applyToVariable(stored('0'), subtract(INT64_MIN), 5n)).toBe(OVERFLOW);
  });

  it('are held at the bounds where that is asked for', () => {
    const held = (value: bigint, mutation: object) =>
      applyToVariable(stored(`${value}`), { ...mutation, saturates: true } as VariableMutation, 5n);
    expect(held(INT64_MAX, add(1n))).toMatchObject({ value: `${INT64_MAX}` });
    expect(held(INT64_MIN, add(-1n))).toMatchObject({ value: `${INT64_MIN}` });
    expect(held(0n, subtract(INT64_MIN))).toMatchObject({ value: `${INT64_MAX}` });
    expect(held(INT64_MIN, subtract(1n))).toMatchObject({ value: `${INT64_MIN}` });
    expect(held(1n, add(1n))).toMatchObject({ value: '2' });
  });

  it('keep deadline and clock', () => {
    expect(applyToVariable(stored('1', 10n, 2n), add(1n), 5n)).toEqual({
      value: '2',
      deadline: 10n,
      clock: 2n,
    });
  });
});

describe('expire', () => {
  it('may come before the value', () => {
    expect(applyToVariable(undefined, expire(9n), 5n)).toEqual({
      value: undefined,
      deadline: 9n,
      clock: undefined,
    });
  });

  it('replaces a deadline, also by an earlier one', () => {
    expect(applyToVariable(stored('1', 10n), expire(7n), 5n)).toMatchObject({ deadline: 7n });
  });

  it('with onlyIfNone leaves a deadline alone, unless it has expired', () => {
    expect(applyToVariable(stored('1', 10n), expire(20n, true), 5n)).toMatchObject({ deadline: 10n });
    expect(applyToVariable(stored('1'), expire(20n, true), 5n)).toMatchObject({ deadline: 20n });
    expect(applyToVariable(stored('1', 10n), expire(20n, true), 10n)).toMatchObject({
      value: undefined,
      deadline: 20n,
    });
  });

  it('at now hides at once, and a set after it makes a variable without deadline', () => {
    const hidden = applyToVariable(stored('1'), expire(5n), 5n) as Variable;
    expect(isVisible(hidden, 5n)).toBe(false);
    expect(applyToVariable(hidden, set('2'), 5n)).toEqual({ value: '2', deadline: undefined, clock: 5n });
  });
});

describe('deprecate', () => {
  it('takes amount × whole periods and keeps the remainder of the time', () => {
    expect(applyToVariable(stored('10', undefined, 100n), deprecate(2n, 10n, 135n), 135n)).toEqual({
      value: '4',
      deadline: undefined,
      clock: 130n,
    });
  });

  it('stops at zero', () => {
    expect(applyToVariable(stored('10'), deprecate(3n, 1n, 100n), 100n)).toMatchObject({
      value: '0',
      clock: 100n,
    });
  });

  it('does nothing before a period has passed, nor for a time before the clock', () => {
    expect(applyToVariable(stored('10', 99n, 5n), deprecate(3n, 10n, 14n), 14n)).toEqual(
      stored('10', 99n, 5n),
    );
    expect(applyToVariable(stored('10', 99n, 5n), deprecate(3n, 10n, -100n), 14n)).toEqual(
      stored('10', 99n, 5n),
    );
  });

  it('leaves a value alone that is zero, negative or no number, and moves its clock', () => {
    for (const value of ['0', '-5', 'abc', '-5x']) {
      expect(applyToVariable(stored(value), deprecate(3n, 10n, 25n), 25n)).toMatchObject({
        value,
        clock: 20n,
      });
    }
  });

  it('leaves absent variables absent and bare deadlines bare', () => {
    expect(applyToVariable(undefined, deprecate(1n, 1n, 5n), 5n)).toBeUndefined();
    const waiting = { value: undefined, deadline: 10n, clock: undefined };
    expect(applyToVariable(waiting, deprecate(1n, 1n, 5n), 5n)).toEqual(waiting);
  });

  it('holds where time spans and products leave 64 bits', () => {
    const variable = stored(`${INT64_MAX}`, undefined, INT64_MIN);
    expect(applyToVariable(variable, deprecate(INT64_MAX, 1n, INT64_MAX), 5n)).toMatchObject({
      value: '0',
      clock: INT64_MAX,
    });
  });

  it('composes: two halves of a span take what the whole takes', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 1000n), fc.bigInt(0n, 1000n), fc.bigInt(1n, 50n), (a, b, period) => {
        const start = stored('100000');
        const whole = applyToVariable(start, deprecate(3n, period, a + b), 0n);
        const half = applyToVariable(start, deprecate(3n, period, a), 0n) as Variable;
        expect(applyToVariable(half, deprecate(3n, period, a + b), 0n)).toEqual(whole);
      }),
    );
  });
});

describe('saturatingAdd', () => {
  it('holds at the bounds of 64 bits', () => {
    expect(saturatingAdd(1n, 2n)).toBe(3n);
    expect(saturatingAdd(INT64_MAX, 1n)).toBe(INT64_MAX);
    expect(saturatingAdd(INT64_MIN, -1n)).toBe(INT64_MIN);
  });
});
