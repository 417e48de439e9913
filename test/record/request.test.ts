import { describe, expect, it } from 'vitest';
import type { RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { RequestWriter } from '../../src/record/request.js';
import { requestBytes, soundPair } from './pairs.js';
import { Random } from './random.js';
import { readBatch } from './read-batch.js';

const text = (value: string): ByteString => value as ByteString;
const LIMITS = { recordBytes: 1000, variables: 10 };
const NAME = { space: 1, applicationId: text('a'), key: text('k') };

describe('RequestWriter and readBatch', () => {
  it('carry any batch there and back', () => {
    const random = new Random(3);
    for (let round = 0; round < 300; round++) {
      const requests = Array.from({ length: random.below(4) }, () => {
        const { now, limits } = soundPair(random);
        return {
          writes: Array.from({ length: 1 + random.below(3) }, () => soundPair(random).write),
          now,
          limits,
        };
      });
      const writer = new RequestWriter(1);
      let length = 0;
      for (const { writes, now, limits } of requests) length += writer.append(writes, now, limits);
      expect(writer.length).toBe(length);
      expect(writer.requests).toBe(requests.length);
      expect(readBatch(writer.bytes)).toEqual(requests);
    }
  });

  it('keep long names and values whole, and all 256 bytes', () => {
    const all = text(String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte)));
    const mutations = [
      { type: 'set', name: text('n'.repeat(65_535)), value: all },
      { type: 'set', name: text('\u00ff'), value: text('v'.repeat(100_000)) },
    ] as const;
    const writes = [{ record: { ...NAME, key: all }, expect: 'any', timeout: undefined, mutations }] as const;
    expect(readBatch(requestBytes(writes, 1n, LIMITS))).toEqual([{ writes, now: 1n, limits: LIMITS }]);
  });

  it('keep no memory of one large request', () => {
    const large = { type: 'set', name: text('n'), value: text('v'.repeat(1_000_000)) } as const;
    const small = [{ record: NAME, expect: 'any', mutations: [] }] as const;
    const writer = new RequestWriter(64);
    writer.append([{ record: NAME, expect: 'any', mutations: [large] }], 1n, LIMITS);
    expect(writer.storage.length).toBeGreaterThan(1_000_000);
    writer.clear();
    expect(writer.storage.length).toBe(64);
    writer.append([{ record: NAME, expect: 'any', mutations: [large] }], 1n, LIMITS);
    writer.take();
    writer.append(small, 1n, LIMITS);
    writer.take();
    expect(writer.storage.length).toBeLessThan(1000);
  });

  it('leave nothing of a request that cannot be written', () => {
    const writer = new RequestWriter(64);
    const small = [{ record: NAME, expect: 'any', timeout: undefined, mutations: [] }] as const;
    writer.append(small, 1n, LIMITS);
    const broken = { type: 'set', name: text('n'), value: undefined } as never;
    expect(() => writer.append([{ record: NAME, expect: 'any', mutations: [broken] }], 2n, LIMITS)).toThrow();
    writer.append(small, 3n, LIMITS);
    expect(readBatch(writer.bytes).map((request) => request?.now)).toEqual([1n, 3n]);
  });

  it('hand over what was written and begin anew', () => {
    const writer = new RequestWriter(64);
    writer.append([{ record: NAME, expect: 'absent', mutations: [] }], 1n, LIMITS);
    const copy = Buffer.from(writer.bytes);
    const taken = writer.take();
    expect(writer.length).toBe(0);
    expect(writer.requests).toBe(0);
    writer.append([{ record: NAME, expect: 'any', mutations: [] }], 2n, LIMITS);
    expect(taken).toEqual(copy);
    // Alone in its ArrayBuffer, or it could not be transferred.
    structuredClone(taken, { transfer: [taken.buffer] });
    expect(taken.length).toBe(0);
    expect(readBatch(writer.bytes)).toHaveLength(1);
    writer.clear();
    expect(writer.bytes).toHaveLength(0);
  });
});

/** A sound request of one write and one mutation, to be broken byte by byte. */
const SET: RecordWrite = {
  record: NAME,
  expect: 7,
  timeout: 9n,
  mutations: [{ type: 'set', name: text('n'), value: text('v') }],
};
const deprecate: RecordWrite['mutations'] = [
  { type: 'deprecate', name: text('n'), amount: 1n, period: 1n, at: 1n },
];
const WRITE = 20;
const MUTATION = WRITE + 24 + 2;

const BREAKS: readonly (readonly [string, RecordWrite, number, number[]])[] = [
  ['no writes', SET, 10, [0, 0]],
  ['a write more', SET, 10, [2, 0]],
  ['space 0', SET, WRITE, [0]],
  ['space 6', SET, WRITE, [6]],
  ['key length 0', SET, WRITE + 2, [0, 0]],
  ['key length 1025', SET, WRITE + 2, [1, 4]],
  ['expectation 3', SET, WRITE + 4, [3]],
  ['a revision without its expectation', SET, WRITE + 4, [0]],
  ['expected revision 0', SET, WRITE + 8, [0]],
  ['expected revision 2^53', SET, WRITE + 8, [0, 0, 0, 0, 0, 0, 0x20, 0]],
  ['flag bit 1', SET, WRITE + 5, [3]],
  ['a timeout without its flag', SET, WRITE + 5, [0]],
  ['timeout 0', SET, WRITE + 16, [0]],
  ['timeout -1', SET, WRITE + 16, [255, 255, 255, 255, 255, 255, 255, 255]],
  ['a mutation more', SET, WRITE + 6, [2, 0]],
  ['a mutation less', SET, WRITE + 6, [0, 0]],
  ['operation 0', SET, MUTATION, [0]],
  ['operation 9', SET, MUTATION, [9]],
  ['a flag of set', SET, MUTATION + 1, [1]],
  ['no name', SET, MUTATION + 2, [0, 0]],
  ['a name beyond the end', SET, MUTATION + 2, [255, 255]],
  ['an upper-case name', SET, MUTATION + 4, [0x41]],
  ['a value beyond the end', SET, MUTATION + 5, [2]],
  ['a value of 4 GiB', SET, MUTATION + 5, [255, 255, 255, 255]],
  ['amount 0', { ...SET, mutations: deprecate }, MUTATION + 5, [0]],
  ['amount -1', { ...SET, mutations: deprecate }, MUTATION + 12, [128]],
  ['period 0', { ...SET, mutations: deprecate }, MUTATION + 13, [0]],
  ['period below 0', { ...SET, mutations: deprecate }, MUTATION + 20, [128]],
  [
    'flag bit 1 of expire',
    { ...SET, mutations: [{ type: 'expire', name: text('n'), deadline: 1n, onlyIfNone: true }] },
    MUTATION + 1,
    [2],
  ],
  ['a named removeRecord', { ...SET, mutations: [{ type: 'remove', name: text('n') }] }, MUTATION, [8]],
  ['a duration below 0', { ...SET, mutations: [{ type: 'timeout', duration: 1n }] }, MUTATION + 11, [128]],
];

describe('a request that breaks the grammar', () => {
  it.each(BREAKS)('%s', (_, write, at, bytes) => {
    const sound = requestBytes([write], 1n, LIMITS);
    expect(readBatch(sound)[0]).toBeDefined();
    const broken = Buffer.from(sound);
    broken.set(bytes, at);
    // The neighbours of a broken one are read as ever.
    const [before, middle, after] = readBatch(Buffer.concat([sound, broken, sound]));
    expect(middle).toBeUndefined();
    expect(before).toEqual({ writes: [write], now: 1n, limits: LIMITS });
    expect(after).toEqual(before);
  });

  it('is every truncation of a sound one, its size field in step', () => {
    const sound = requestBytes([SET], 1n, LIMITS);
    for (let length = 4; length < sound.length; length++) {
      const cut = Buffer.from(sound.subarray(0, length));
      cut.writeUInt32LE(length, 0);
      expect(readBatch(cut), `${length} bytes`).toEqual([undefined]);
    }
  });

  it.each([0, 19, 2 ** 31, 2 ** 32 - 1])(
    'takes all that follows with it where its size field is %i',
    (size) => {
      const sound = requestBytes([SET], 1n, LIMITS);
      const broken = Buffer.from(sound);
      broken.writeUInt32LE(size, 0);
      expect(readBatch(Buffer.concat([sound, broken, sound]))).toEqual([expect.anything(), undefined]);
    },
  );

  it('is what is left where no size field fits', () => {
    expect(readBatch(Buffer.from([1, 2, 3]))).toEqual([undefined]);
    expect(readBatch(Buffer.alloc(0))).toEqual([]);
  });
});
