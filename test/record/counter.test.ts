import { describe, expect, it } from 'vitest';
import type { Expectation, RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { INT64_MAX, INT64_MIN } from '../../src/contract/clock.js';
import type { Mutation } from '../../src/contract/mutation.js';
import type { Variable } from '../../src/contract/snapshot.js';
import type { StoredRecord } from '../../src/record/record.js';
import { CODECS } from './codecs.js';
import { modelApply, modelOf } from './model.js';
import { requestBytes } from './pairs.js';

// Counters that are there already take a path of their own in TypeScript: its edges, each against the model.

const text = (value: string): ByteString => value as ByteString;
const NOW = 1_800_000_000_000_000_000n;
const NAME = { space: 1, applicationId: text('a'), key: text('k') };
const WIDE = { recordBytes: 1000, variables: 10 };

const add = (delta: bigint, name = 'n'): Mutation => ({ type: 'add', name: text(name), delta });
const subtract = (delta: bigint): Mutation => ({ type: 'subtract', name: text('n'), delta });
const expire = (deadline: bigint, onlyIfNone = false): Mutation => ({
  type: 'expire',
  name: text('n'),
  deadline,
  onlyIfNone,
});

function counter(
  value: bigint,
  facts: Partial<StoredRecord['facts']> = {},
  rest: Partial<Variable> = {},
): StoredRecord {
  const held = { value: text(String(value)), deadline: NOW + 60n, clock: NOW - 5n, ...rest };
  return {
    name: NAME,
    revision: 7,
    facts: { created: NOW - 5n, updated: NOW - 1n, updateCount: 3, timeout: undefined, ...facts },
    variables: new Map([
      [text('m'), { value: text('text'), deadline: undefined, clock: NOW }],
      [text('n'), held],
    ]),
  };
}

const CASES: readonly (readonly [
  string,
  StoredRecord,
  readonly Mutation[],
  { now?: bigint; limits?: typeof WIDE; expect?: Expectation },
])[] = [
  ['carries from the lower half', counter(2n ** 32n - 1n), [add(1n)], {}],
  ['borrows from the upper half', counter(2n ** 32n), [subtract(1n)], {}],
  ['crosses zero', counter(1n), [add(-3n)], {}],
  ['reaches the greatest integer', counter(INT64_MAX - 1n), [add(1n)], {}],
  ['overflows', counter(INT64_MAX), [add(1n)], {}],
  ['overflows by the least delta', counter(-1n), [add(INT64_MIN)], {}],
  ['reaches the least integer', counter(0n), [add(INT64_MIN)], {}],
  ['subtracts the least integer from -1', counter(-1n), [subtract(INT64_MIN)], {}],
  ['overflows by subtracting the least', counter(0n), [subtract(INT64_MIN)], {}],
  ['overflows after it was in range', counter(INT64_MAX - 1n), [add(1n), add(1n)], {}],
  ['moves the deadline', counter(1n), [add(1n), expire(NOW + 90n)], {}],
  ['leaves the deadline alone where it is to', counter(1n), [expire(NOW + 90n, true)], {}],
  ['hides at once', counter(1n), [add(1n), expire(NOW)], {}],
  ['hides and starts again', counter(1n), [expire(NOW), add(1n)], {}],
  ['starts again when it has expired', counter(5n, {}, { deadline: NOW }), [add(1n)], {}],
  ['gets its first deadline', counter(5n, {}, { deadline: undefined }), [add(1n), expire(NOW + 1n)], {}],
  ['keeps a clock that is not the creation', counter(5n, {}, { clock: NOW - 2n }), [add(1n)], {}],
  ['meets a variable that is text', counter(5n), [add(1n, 'm'), add(1n)], {}],
  ['meets an absent one', counter(5n), [add(1n, 'z')], {}],
  ['does nothing but count the update', counter(5n), [], {}],
  ['counts the update beyond 32 bits', counter(5n, { updateCount: 2 ** 32 - 1 }), [add(1n)], {}],
  ['holds the update count at its greatest', counter(5n, { updateCount: 2 ** 48 - 1 }), [add(1n)], {}],
  ['does not move updated back', counter(5n, { updated: NOW + 9n }), [add(1n)], {}],
  ['lets a record live to its timeout', counter(5n, { timeout: 2n }), [add(1n)], {}],
  ['begins anew at its timeout', counter(5n, { timeout: 1n }), [add(1n)], {}],
  [
    'adds updated and timeout with a carry',
    counter(5n, { updated: 2n ** 32n - 1n, timeout: 1n }),
    [add(1n)],
    { now: 2n ** 32n - 1n },
  ],
  [
    'adds them with a carry, and is over',
    counter(5n, { updated: 2n ** 32n - 1n, timeout: 1n }),
    [add(1n)],
    { now: 2n ** 32n },
  ],
  [
    'holds that sum at the greatest time',
    counter(5n, { timeout: INT64_MAX }, { deadline: undefined }),
    [add(1n)],
    { now: INT64_MAX - 1n },
  ],
  [
    'is over at the greatest time',
    counter(5n, { timeout: INT64_MAX }, { deadline: undefined }),
    [add(1n)],
    { now: INT64_MAX },
  ],
  ['meets its revision', counter(5n), [add(1n)], { expect: 7 }],
  ['meets another revision', counter(5n), [add(1n)], { expect: 8 }],
  ['takes 16 mutations', counter(5n), Array.from({ length: 16 }, () => add(1n)), {}],
  ['takes 17 mutations', counter(5n), Array.from({ length: 17 }, () => add(1n)), {}],
  ['grows to the limit of the record', counter(9n), [add(1n)], { limits: { recordBytes: 8, variables: 10 } }],
  ['grows beyond it', counter(9n), [add(1n)], { limits: { recordBytes: 7, variables: 10 } }],
  ['shrinks while beyond it', counter(10n), [add(-1n)], { limits: { recordBytes: 1, variables: 1 } }],
];

describe.each(CODECS)('a counter, %s', (_, codec) => {
  it.each(CASES)('%s', (_name, stored, mutations, { now = NOW, limits = WIDE, expect: expected = 'any' }) => {
    const write: RecordWrite = { record: NAME, expect: expected, mutations };
    const model = modelApply(modelOf(stored), write, now, limits, 8);
    const applied = codec.apply(codec.encode(stored), requestBytes([write], now, limits), 8);
    expect(applied.answer[4] === 0).toBe(model.error === undefined);
    expect(applied.record && modelOf(codec.decode(applied.record))).toEqual(model.record);
  });
});
