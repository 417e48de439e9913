import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../src/contract/bytes.js';
import { WafStateError } from '../../src/contract/errors.js';
import { Corruption } from '../../src/record/corruption.js';
import type { RecordCodec, StoredRecord } from '../../src/record/record.js';
import { CODECS } from './codecs.js';
import { requestBytes, sign } from './pairs.js';

const text = (value: string): ByteString => value as ByteString;

const RECORD: StoredRecord = {
  name: { space: 1, applicationId: text('a'), key: text('key') },
  revision: 7,
  facts: { created: 5n, updated: 6n, updateCount: 1, timeout: 9n },
  variables: new Map([
    [text('aa'), { value: text('text'), deadline: 8n, clock: 7n }],
    [text('bb'), { value: text('12'), deadline: undefined, clock: 5n }],
    [text('cc'), { value: undefined, deadline: 8n, clock: undefined }],
  ]),
};
/** Where the fields of that record stand. */
const VARIABLES = 48 + 1 + 3;
const FIRST = {
  tag: VARIABLES + 2,
  name: VARIABLES + 3,
  clock: VARIABLES + 13,
  length: VARIABLES + 21,
  bytes: VARIABLES + 25,
};
const SECOND = VARIABLES + 29;
const THIRD = SECOND + 13;

type Break = (bytes: Buffer) => Buffer | undefined;
const put =
  (at: number, ...bytes: number[]): Break =>
  (record) => {
    record.set(bytes, at);
    return undefined;
  };
const insert =
  (at: number, ...bytes: number[]): Break =>
  (record) =>
    Buffer.concat([record.subarray(0, at), Buffer.from(bytes), record.subarray(at)]);
const cut =
  (from: number, to: number): Break =>
  (record) =>
    Buffer.concat([record.subarray(0, from), record.subarray(to)]);

/** Each with a right checksum, so that nothing but the rule itself is broken. */
const BREAKS: readonly (readonly [string, number, Break])[] = [
  ['43 bytes', Corruption.tooShort, (record) => record.subarray(0, 43)],
  ['magic', Corruption.magic, put(0, 0x57, 0x53)],
  ['version 0', Corruption.version, put(2, 0)],
  ['version 2', Corruption.version, put(2, 2)],
  ['flag bit 1', Corruption.flags, put(3, 3)],
  ['flag bit 7', Corruption.flags, put(3, 0x81)],
  ['space 0', Corruption.space, put(4, 0)],
  ['space 6', Corruption.space, put(4, 6)],
  ['space 15', Corruption.space, put(4, 15)],
  ['key length 0', Corruption.keyLength, put(6, 0, 0)],
  ['key length 1025', Corruption.keyLength, put(6, 1, 4)],
  ['revision 0', Corruption.revision, put(8, 0)],
  ['revision 2^53', Corruption.revision, put(8, 0, 0, 0, 0, 0, 0, 0x20, 0)],
  ['update count 0', Corruption.updateCount, put(32, 0)],
  ['timeout 0', Corruption.timeout, put(40, 0)],
  ['timeout -1', Corruption.timeout, put(40, 255, 255, 255, 255, 255, 255, 255, 255)],
  ['application id beyond the end', Corruption.truncated, put(5, 255)],
  ['a variable more', Corruption.truncated, put(38, 4)],
  ['a variable less', Corruption.trailing, put(38, 2)],
  ['name length 0', Corruption.nameLength, put(VARIABLES, 0, 0)],
  ['name length beyond the end', Corruption.truncated, put(VARIABLES, 255, 255)],
  ['kind 3', Corruption.tag, put(FIRST.tag, 0x0f)],
  ['tag bit 4', Corruption.tag, put(FIRST.tag, 0x1e)],
  ['tag bit 7', Corruption.tag, put(FIRST.tag, 0x8e)],
  ['no value and no deadline', Corruption.valueless, put(THIRD + 2, 0)],
  ['no value and a clock', Corruption.valueless, put(THIRD + 2, 0x0c)],
  ['an upper-case byte', Corruption.nameCase, put(FIRST.name + 1, 0x5a)],
  ['names that repeat', Corruption.nameOrder, put(SECOND + 3, 0x61, 0x61)],
  ['names out of order', Corruption.nameOrder, put(SECOND + 3, 0x61, 0x60)],
  ['a clock that equals created', Corruption.clock, put(FIRST.clock, 5)],
  ['an integer as bytes', Corruption.integer, put(FIRST.bytes, 0x2d, 0x31, 0x32, 0x33)],
  ['value length beyond the end', Corruption.truncated, put(FIRST.length, 0, 0, 0, 1)],
  ['value length of 4 GiB', Corruption.truncated, put(FIRST.length, 255, 255, 255, 255)],
  ['a byte more', Corruption.trailing, (record) => insert(record.length - 4, 0)(record)],
  ['a byte less', Corruption.truncated, (record) => cut(record.length - 5, record.length - 4)(record)],
];

function broken(codec: RecordCodec, change: Break): Buffer {
  const bytes = Buffer.from(codec.encode(RECORD));
  const changed = change(bytes) ?? bytes;
  sign(changed);
  return changed;
}

function refusal(codec: RecordCodec, bytes: Uint8Array): WafStateError {
  try {
    codec.decode(bytes);
  } catch (error) {
    if (error instanceof WafStateError) return error;
    throw error;
  }
  throw new Error(`accepted ${Buffer.from(bytes).toString('hex')}`);
}

describe.each(CODECS)('a corrupt record, %s', (_, codec) => {
  it.each(BREAKS)('%s is reason %i', (_name, reason, change) => {
    const bytes = broken(codec, change);
    expect(codec.check(bytes)).toBe(reason);
    expect(refusal(codec, bytes).code).toBe('corrupt_data');
    expect(refusal(codec, bytes).details.actual).toBe(reason);
  });

  it('is met for every reason but the key it is stored under, which apply alone can see', () => {
    const met = new Set(BREAKS.map(([, reason]) => reason));
    const missing = Object.values(Corruption).filter((reason) => !met.has(reason));
    expect(missing).toEqual([Corruption.none, Corruption.checksum, Corruption.otherName]);
  });

  it('is every truncation', () => {
    const bytes = Buffer.from(codec.encode(RECORD));
    for (let length = 0; length < bytes.length; length++) {
      expect(codec.check(bytes.subarray(0, length)), `${length} bytes`).not.toBe(Corruption.none);
    }
  });

  it('is every flipped bit', () => {
    const bytes = Buffer.from(codec.encode(RECORD));
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(codec.check(bytes), `bit ${bit}`).not.toBe(Corruption.none);
      bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
    }
  });

  it('tells a foreign format before damage', () => {
    const bytes = Buffer.from(codec.encode(RECORD));
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
    expect(codec.check(bytes)).toBe(Corruption.checksum);
    bytes[2] = 9;
    expect(codec.check(bytes)).toBe(Corruption.version);
  });

  it('says nothing of what it holds', () => {
    const error = refusal(codec, broken(codec, put(FIRST.bytes, 0x2d, 0x31, 0x32, 0x33)));
    expect(error.message).toContain('an integer is not in its shortest form');
    for (const secret of ['aa', '-123']) expect(error.message).not.toContain(secret);
  });

  it('fails a batch, unless that removes the record unseen', () => {
    const bytes = broken(codec, put(4, 0));
    const limits = { recordBytes: 1000, variables: 10 };
    const add = { type: 'add', name: text('n'), delta: 1n } as const;
    const gone = { type: 'removeRecord' } as const;
    const status = (writes: Parameters<typeof requestBytes>[0]) =>
      codec.apply(bytes, requestBytes(writes, 5n, limits), 8).answer[4];
    expect(status([{ record: RECORD.name, expect: 'any', mutations: [add] }])).toBe(6);
    expect(status([{ record: RECORD.name, expect: 'any', mutations: [add, gone] }])).toBe(6);
    expect(status([{ record: RECORD.name, expect: 7, mutations: [gone] }])).toBe(6);
    expect(status([{ record: RECORD.name, expect: 'absent', mutations: [gone] }])).toBe(6);
    const applied = codec.apply(
      bytes,
      requestBytes([{ record: RECORD.name, expect: 'any', mutations: [gone, add] }], 5n, limits),
      8,
    );
    expect(codec.decode(applied.record as Uint8Array).variables.get(text('n'))).toMatchObject({ value: '1' });
    // There was something under the key, whatever it was.
    expect(applied.answer[16]).toBe(1);
  });

  it('is one that another key leads to', () => {
    const bytes = codec.encode(RECORD);
    for (const name of [
      { ...RECORD.name, space: 2 },
      { ...RECORD.name, key: text('kez') },
      { space: 1, applicationId: text('ak'), key: text('ey') },
    ]) {
      const { answer } = codec.apply(
        bytes,
        requestBytes([{ record: name, expect: 'any', mutations: [] }], 5n, {
          recordBytes: 1000,
          variables: 10,
        }),
        8,
      );
      expect([answer[4], answer[20]]).toEqual([6, Corruption.otherName]);
    }
  });
});

describe('docs/format.md', () => {
  it('lists as many reasons as there are', () => {
    const page = readFileSync(new URL('../../docs/format.md', import.meta.url), 'utf8');
    const table = page.slice(
      page.indexOf('The reasons of corruption'),
      page.indexOf('A record of the collection ip'),
    );
    const numbers = [...table.matchAll(/(?:^|\s{2,})(\d+)\s{2}\S/gm)].map((match) => Number(match[1]));
    expect(numbers.sort((a, b) => a - b)).toEqual(Object.values(Corruption).filter((reason) => reason > 0));
  });
});
