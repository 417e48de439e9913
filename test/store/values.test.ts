import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ByteString, encodeText } from '../../src/contract/bytes.js';
import { WafStateError } from '../../src/contract/errors.js';
import { toDeadline, toKey, toLimit, toVersion } from '../../src/store/input.js';
import { MAX_DEPTH } from '../../src/store/json.js';
import { decodeValue, encodeValue, isInteger, MAX_VALUE_BYTES } from '../../src/store/value.js';

function roundTrip(value: unknown): unknown {
  return decodeValue(encodeValue(value));
}

function code(work: () => unknown): string | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof WafStateError) return error.code;
    throw error;
  }
  return undefined;
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = [value];
  return value;
}

describe('values', () => {
  test('of every kind come back as they were', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.boolean(),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.maxSafeInteger(),
          fc.uint8Array().map((bytes) => Buffer.from(bytes)),
          fc.array(fc.jsonValue()),
          fc.dictionary(fc.string(), fc.jsonValue()),
        ),
        (value) => {
          // JSON has one zero.
          expect(roundTrip(value)).toEqual(Object.is(value, -0) ? 0 : normal(value));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('that are integers are kept as such, and nothing else is', () => {
    expect(encodeValue(42)).toBe('42');
    expect(encodeValue(-(2n ** 63n))).toBe('-9223372036854775808');
    expect(roundTrip(2n ** 63n - 1n)).toBe(2n ** 63n - 1n);
    expect(roundTrip(7n)).toBe(7);
    for (const value of ['42', '9223372036854775807', '', Buffer.from('42'), 4.5, 1e21, [42], true]) {
      expect(isInteger(encodeValue(value))).toBe(false);
      expect(roundTrip(value)).toEqual(value);
    }
  });

  test('with hostile names do not reach any prototype', () => {
    const value: unknown = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": 1, "hasOwnProperty": null}',
    );
    const back = roundTrip(value) as object;
    expect(Object.keys(back)).toEqual(['__proto__', 'constructor', 'hasOwnProperty']);
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
    expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 });
  });

  test.each([
    ['null', null],
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['NaN', Number.NaN],
    ['infinity', Number.NEGATIVE_INFINITY],
    ['an integer beyond 64 bits', 2n ** 63n],
    ['undefined within', { a: undefined }],
    ['a hole', new Array(1)],
    ['a bigint within', [1n]],
    ['NaN within', { a: { b: [Number.NaN] } }],
    ['a date', new Date(0)],
    ['a map', new Map([[1, 2]])],
    [
      'an object with a class',
      new (class Point {
        x = 1;
      })(),
    ],
    ['bytes within', [new Uint8Array(1)]],
    ['a property named by a symbol', { [Symbol('s')]: 1 }],
    ['a toJSON that would stand in for it', { toJSON: () => 'x' }],
    ['another typed array', new Float64Array(1)],
  ])('%s cannot be stored', (_, value) => {
    expect(code(() => encodeValue(value))).toBe('invalid_mutation');
  });

  test('with cycles are refused, and those that only meet one object twice are not', () => {
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    expect(code(() => encodeValue(cycle))).toBe('invalid_mutation');
    const shared = { a: 1 };
    expect(roundTrip([shared, shared])).toEqual([{ a: 1 }, { a: 1 }]);
  });

  test('may be nested as deeply as the limit says', () => {
    expect(roundTrip(nested(MAX_DEPTH))).toEqual(nested(MAX_DEPTH));
    expect(code(() => encodeValue(nested(MAX_DEPTH + 1)))).toBe('invalid_mutation');
    expect(code(() => encodeValue(nested(200_000)))).toBe('invalid_mutation');
  });

  test('are measured in the bytes that are stored', () => {
    const most = MAX_VALUE_BYTES;
    expect(roundTrip('x'.repeat(most))).toHaveLength(most);
    expect(code(() => encodeValue('x'.repeat(most + 1)))).toBe('invalid_mutation');
    expect(roundTrip('é'.repeat(most / 2))).toHaveLength(most / 2);
    expect(code(() => encodeValue('é'.repeat(most / 2 + 1)))).toBe('invalid_mutation');
    expect(roundTrip(Buffer.alloc(most))).toHaveLength(most);
    expect(code(() => encodeValue(Buffer.alloc(most + 1)))).toBe('invalid_mutation');
    expect(roundTrip(['x'.repeat(most - 4)])).toHaveLength(1);
    expect(code(() => encodeValue(['x'.repeat(most - 3)]))).toBe('invalid_mutation');
    expect(code(() => encodeValue(['é'.repeat(most / 2)]))).toBe('invalid_mutation');
  });

  test('that are far too large are given up at once', () => {
    let read = 0;
    const endless = new Proxy([], {
      get: (target, name) => {
        if (name === 'length') return 2 ** 32 - 1;
        if (typeof name === 'string' && /^\d+$/.test(name)) {
          read++;
          return 'x'.repeat(1000);
        }
        return Reflect.get(target, name) as unknown;
      },
    });
    expect(code(() => encodeValue(endless))).toBe('invalid_mutation');
    expect(read).toBeLessThan(1100);
    // Every level doubles it: a megabyte of text would be 2^20 of them.
    let laughs: unknown = 'ha';
    for (let level = 0; level < 90; level++) laughs = [laughs, laughs];
    expect(code(() => encodeValue(laughs))).toBe('invalid_mutation');
  });

  test('show one face to the check and to the writer', () => {
    let looks = 0;
    const value = {
      get face() {
        looks++;
        return looks === 1 ? 'innocent' : () => 'guilty';
      },
    };
    expect(roundTrip(value)).toEqual({ face: 'innocent' });
    expect(looks).toBe(1);
  });

  test('that no store has written are corrupt, whatever they are', () => {
    const prefixes = ['', '9223372036854775807', '9223372036854775807j', '9223372036854775807x', '+', '00'];
    for (const prefix of prefixes) {
      for (const rest of ['', '{', 'null', '\xff\xfe', '1 2']) {
        const bytes = (prefix + rest) as ByteString;
        if (isInteger(bytes) || bytes === '9223372036854775807jnull') continue;
        expect(code(() => decodeValue(bytes))).toBe('corrupt_data');
      }
    }
  });
});

describe('keys', () => {
  test('are 1 to 1024 bytes of well-formed text', () => {
    expect(toKey('é')).toBe(encodeText('é'));
    expect(toKey('x'.repeat(1024))).toHaveLength(1024);
    expect(toKey('__proto__')).toBe('__proto__');
    expect(toKey('a\0b')).toBe('a\0b');
    const wrong = [
      '',
      'x'.repeat(1025),
      'é'.repeat(513),
      '\ud800',
      7,
      null,
      undefined,
      {},
      ['a'],
      Buffer.from('a'),
    ];
    for (const key of wrong) expect(code(() => toKey(key))).toBe('invalid_key');
  });
});

describe('a ttl', () => {
  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, -1e-9, '5', null, 5n, {}])(
    'of %s is refused',
    (ttl) => {
      expect(code(() => toDeadline(ttl, 0n))).toBe('invalid_option');
    },
  );

  test('is kept to the nanosecond, and what rounds to nothing is no "never"', () => {
    expect(toDeadline(undefined, 5n)).toBeUndefined();
    expect(toDeadline(0, 5n)).toBeUndefined();
    expect(toDeadline(1.000000001, 5n)).toBe(1_000_000_006n);
    expect(toDeadline(1e-12, 5n)).toBe(6n);
    expect(toDeadline(Number.MAX_VALUE, 5n)).toBe(2n ** 63n - 1n);
  });
});

describe('a version and a limit', () => {
  test('are read as they are written', () => {
    expect(toVersion('18446744073709551615')).toBe(2n ** 64n - 1n);
    expect(toVersion(3)).toBe(3n);
    for (const version of [
      'abc',
      '',
      '-1',
      '1.5',
      '18446744073709551616',
      2 ** 53,
      1.5,
      Number.NaN,
      null,
      {},
    ]) {
      expect(code(() => toVersion(version))).toBe('invalid_option');
    }
    expect([undefined, 0, 5, 1000, 1001].map(toLimit)).toEqual([100, 100, 5, 1000, 1000]);
    for (const limit of [-1, 1.5, '5', null]) expect(code(() => toLimit(limit))).toBe('invalid_option');
  });
});

/** -0 within is 0, as JSON writes it; lone surrogates stay. */
function normal(value: unknown): unknown {
  return typeof value === 'object' && !(value instanceof Uint8Array)
    ? (JSON.parse(JSON.stringify(value)) as unknown)
    : value;
}
