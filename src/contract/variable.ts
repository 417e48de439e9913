import type { ByteString } from './bytes.js';
import { INT64_MAX, INT64_MIN } from './clock.js';
import type { AddMutation, SubtractMutation, VariableMutation } from './mutation.js';
import type { Variable } from './snapshot.js';

/**
 * The rules of one variable, pure. The TypeScript record, the memory engine and a transaction's own reads all go
 * through `applyToVariable`; the C++ record is held to it by differential tests.
 */

/** An expired variable is absent to everyone: readers, mutations, limits that count visible ones. */
export function isExpired(variable: Variable, now: bigint): boolean {
  return variable.deadline !== undefined && variable.deadline <= now;
}

export function isVisible(variable: Variable, now: bigint): boolean {
  return variable.value !== undefined && !isExpired(variable, now);
}

/** The arithmetic left the range of 64 bits: nothing of the batch may be published. */
export const OVERFLOW = Symbol('overflow');

/**
 * The variable after one mutation at `now`; `undefined` = absent. An expired one counts as absent first, so a
 * counter starts again at its delta once its window is over.
 */
export function applyToVariable(
  stored: Variable | undefined,
  mutation: VariableMutation,
  now: bigint,
): Variable | undefined | typeof OVERFLOW {
  const current = stored !== undefined && isExpired(stored, now) ? undefined : stored;
  switch (mutation.type) {
    case 'set':
      return withValue(current, mutation.value, now);
    case 'remove':
      return undefined;
    case 'add':
      return withSum(current, parseInteger(current?.value) + mutation.delta, mutation, now);
    case 'subtract':
      return withSum(current, parseInteger(current?.value) - mutation.delta, mutation, now);
    case 'expire':
      if (mutation.onlyIfNone && current?.deadline !== undefined) return current;
      return { value: current?.value, deadline: mutation.deadline, clock: current?.clock };
    case 'deprecate':
      return current?.clock === undefined
        ? current
        : decay(current, current.clock, mutation.amount, mutation.period, mutation.at);
  }
}

function withValue(current: Variable | undefined, value: ByteString, now: bigint): Variable {
  return { value, deadline: current?.deadline, clock: current?.clock ?? now };
}

function withSum(
  current: Variable | undefined,
  sum: bigint,
  { saturates }: AddMutation | SubtractMutation,
  now: bigint,
): Variable | typeof OVERFLOW {
  const held = sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : sum;
  if (held !== sum && saturates !== true) return OVERFLOW;
  return withValue(current, String(held) as ByteString, now);
}

/**
 * The clock moves by whole periods, so no remainder is lost, and it moves while the value is zero or below too: time
 * without anything to forgive is not saved up against what comes later.
 */
function decay(variable: Variable, clock: bigint, amount: bigint, period: bigint, at: bigint): Variable {
  const periods = at > clock ? (at - clock) / period : 0n;
  if (periods === 0n) return variable;
  const value = parseInteger(variable.value);
  const next = value - amount * periods;
  return {
    value: value > 0n ? (String(next > 0n ? next : 0n) as ByteString) : variable.value,
    deadline: variable.deadline,
    clock: clock + periods * period,
  };
}

/** Leading ASCII white space, one sign, then the decimal prefix; at most 20 digits can matter once zeros are gone. */
const INTEGER = /^[\t\n\v\f\r ]*([+-]?)0*([0-9]*)/;

/**
 * The integer that a value counts as: `12x` is 12, `1.9` is 1, `abc` and a number beyond 64 bits are 0.
 */
export function parseInteger(value: ByteString | undefined): bigint {
  if (value === undefined) return 0n;
  const match = INTEGER.exec(value) as RegExpExecArray;
  const digits = match[2] as string;
  if (digits === '' || digits.length > 19) return 0n;
  const magnitude = BigInt(digits);
  const signed = match[1] === '-' ? -magnitude : magnitude;
  return signed > INT64_MAX || signed < INT64_MIN ? 0n : signed;
}
