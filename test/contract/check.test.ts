import { describe, expect, it } from 'vitest';
import type { RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { checkCleanup, checkCommit, checkLoad, checkScan } from '../../src/contract/check.js';
import { WafStateError } from '../../src/contract/errors.js';
import { DEFAULT_LIMITS, resolveLimits } from '../../src/contract/limits.js';
import type { Mutation } from '../../src/contract/mutation.js';

const bytes = (text: string) => text as ByteString;
const RECORD = { space: 1, applicationId: bytes('app'), key: bytes('203.0.113.9') };
const OPTIONS = { now: 0n, limits: DEFAULT_LIMITS };
const set = (name: string, value: string): Mutation => ({
  type: 'set',
  name: bytes(name),
  value: bytes(value),
});

function refusal(write: Partial<RecordWrite>, options = OPTIONS): unknown {
  try {
    checkCommit([{ record: RECORD, expect: 'any', mutations: [], ...write }], options);
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('a record name', () => {
  it.each([1, 5, 16, 255])('may have space %d', (space) => {
    expect(refusal({ record: { ...RECORD, space } })).toBeUndefined();
  });

  it.each([0, 6, 15, 256, 1.5, Number.NaN])('may not have space %d', (space) => {
    expect(refusal({ record: { ...RECORD, space } })).toMatchObject({ code: 'invalid_key' });
  });

  it('has a key of 1 to keyBytes bytes', () => {
    expect(refusal({ record: { ...RECORD, key: bytes('k'.repeat(1024)) } })).toBeUndefined();
    expect(refusal({ record: { ...RECORD, key: bytes('') } })).toMatchObject({ code: 'invalid_key' });
    expect(refusal({ record: { ...RECORD, key: bytes('k'.repeat(1025)) } })).toMatchObject({
      code: 'invalid_key',
      details: { space: 'ip', option: 'key', limit: 1024, actual: 1025 },
    });
  });

  it('has an application id of at most 255 bytes', () => {
    expect(refusal({ record: { ...RECORD, applicationId: bytes('') } })).toBeUndefined();
    expect(refusal({ record: { ...RECORD, applicationId: bytes('a'.repeat(256)) } })).toMatchObject({
      code: 'invalid_key',
      details: { option: 'applicationId', limit: 255, actual: 256 },
    });
  });

  it('has no character that is not a byte, and is never quoted', () => {
    expect(refusal({ record: { ...RECORD, key: bytes('secret€') } })).toMatchObject({
      code: 'invalid_key',
      message: expect.not.stringContaining('secret'),
    });
  });
});

describe('a mutation', () => {
  it.each<[string, Mutation]>([
    ['an empty name', set('', '1')],
    ['an over-long name', set('n'.repeat(1025), '1')],
    ['a name in upper case', set('Name', '1')],
    ['a name that is no byte string', set('naĀme', '1')],
    ['an over-long value', set('n', 'v'.repeat(32 * 1024 + 1))],
    ['a value that is no byte string', set('n', '€')],
    ['a delta beyond 64 bits', { type: 'add', name: bytes('n'), delta: 2n ** 63n }],
    ['a delta that is a number', { type: 'subtract', name: bytes('n'), delta: 1 as unknown as bigint }],
    [
      'a deadline beyond 64 bits',
      { type: 'expire', name: bytes('n'), deadline: -(2n ** 63n) - 1n, onlyIfNone: false },
    ],
    ['an amount of 0', { type: 'deprecate', name: bytes('n'), amount: 0n, period: 1n, at: 0n }],
    ['a period of 0', { type: 'deprecate', name: bytes('n'), amount: 1n, period: 0n, at: 0n }],
    ['a timeout of 0', { type: 'timeout', duration: 0n }],
    ['an unknown type', { type: 'increment' } as unknown as Mutation],
  ])('with %s is invalid_mutation', (_, mutation) => {
    expect(refusal({ mutations: [mutation] })).toMatchObject({ code: 'invalid_mutation' });
  });

  it.each<[string, Mutation]>([
    ['a name and a value of the limit', set('n'.repeat(1024), 'v'.repeat(32 * 1024))],
    ['the least delta', { type: 'add', name: bytes('n'), delta: -(2n ** 63n) }],
    ['every byte in its name but capitals', set('\0 @[`{\xff', '')],
    ['no timeout', { type: 'timeout', duration: undefined }],
    ['the record removed', { type: 'removeRecord' }],
  ])('with %s passes', (_, mutation) => {
    expect(refusal({ mutations: [mutation] })).toBeUndefined();
  });
});

describe('what is no call at all', () => {
  const call =
    (check: (...given: never[]) => void, ...given: unknown[]) =>
    () =>
      check(...(given as never[]));
  const nothing = Object.create(null);

  it.each([
    ['a commit without options', call(checkCommit, [])],
    ['a commit without limits', call(checkCommit, [], { now: 1n })],
    ['a commit of no list', call(checkCommit, undefined, OPTIONS)],
    ['a commit of nothing', call(checkCommit, [null], OPTIONS)],
    ['a write without mutations', call(checkCommit, [{ record: RECORD, expect: 'any' }], OPTIONS)],
    ['a write without a record', call(checkCommit, [{ expect: 'any', mutations: [] }], OPTIONS)],
    [
      'a mutation that is none',
      call(checkCommit, [{ record: RECORD, expect: 'any', mutations: [null] }], OPTIONS),
    ],
    ['a load of nothing', call(checkLoad, null, 1n, DEFAULT_LIMITS)],
    ['a load without limits', call(checkLoad, RECORD, 1n)],
    ['a load from no space', call(checkLoad, { ...RECORD, space: nothing }, 1n, DEFAULT_LIMITS)],
    ['a cleanup without a budget', call(checkCleanup, 1n)],
    ['a cleanup of no number', call(checkCleanup, 1n, { records: nothing, variables: Symbol() })],
    ['a scan for nothing', call(checkScan, undefined)],
    ['a scan without a limit', call(checkScan, { now: 1n, limit: Symbol() })],
    ['a scan of no space', call(checkScan, { now: 1n, limit: 1, space: nothing })],
  ])('is a typed error: %s', (_, attempt) => {
    expect(attempt).toThrow(WafStateError);
  });
});

describe('a commit', () => {
  it('has at most 65,535 writes', () => {
    const writes = Array.from({ length: 65_536 }, (_, i) => ({
      record: { ...RECORD, key: `${i}` as ByteString },
      expect: 'any' as const,
      mutations: [],
    }));
    expect(() => checkCommit(writes, OPTIONS)).toThrow(
      expect.objectContaining({
        code: 'capacity_exceeded',
        details: expect.objectContaining({ actual: 65_536 }),
      }),
    );
  });

  it('has at most limits.mutations mutations, all its records together', () => {
    const options = { now: 0n, limits: resolveLimits({ mutations: 3 }) };
    const write = (key: string, count: number): RecordWrite => ({
      record: { ...RECORD, key: bytes(key) },
      expect: 'any',
      mutations: Array<Mutation>(count).fill(set('n', '1')),
    });
    expect(() => checkCommit([write('a', 2), write('b', 1)], options)).not.toThrow();
    expect(() => checkCommit([write('a', 2), write('b', 2)], options)).toThrow('has 4 mutations');
  });

  it.each([0, -1, 1.5, 2 ** 53, 'newest'])('may not expect %s', (expect_) => {
    expect(refusal({ expect: expect_ as number })).toMatchObject({ code: 'invalid_mutation' });
  });

  it('names a record only once, and tells records apart by all three parts', () => {
    const write = (space: number, applicationId: string, key: string): RecordWrite => ({
      record: { space, applicationId: bytes(applicationId), key: bytes(key) },
      expect: 'any',
      mutations: [],
    });
    const apart = [write(1, 'a', 'bc'), write(1, 'ab', 'c'), write(2, 'a', 'bc')];
    expect(() => checkCommit(apart, OPTIONS)).not.toThrow();
    expect(() => checkCommit([...apart, write(1, 'ab', 'c')], OPTIONS)).toThrow('only once');
  });

  it('has its times within 64 bits', () => {
    expect(refusal({}, { ...OPTIONS, now: 2n ** 63n })).toMatchObject({ code: 'invalid_option' });
    expect(refusal({}, { ...OPTIONS, now: 5 as unknown as bigint })).toMatchObject({
      code: 'invalid_option',
    });
    expect(() => checkLoad(RECORD, -(2n ** 63n) - 1n, DEFAULT_LIMITS)).toThrow('64 signed bits');
  });
});
