import { describe, expect, it } from 'vitest';
import { type ByteString, fromBytes } from '../../src/contract/bytes.js';
import { COLLECTION_SPACES, type RecordName } from '../../src/contract/space.js';
import { decodeKey, encodeKey, isSpace, keyString } from '../../src/record/key.js';
import { Random } from './random.js';

const text = (value: string): ByteString => value as ByteString;

function name(random: Random): RecordName {
  return {
    space: random.pick([1, 5, 16, 255]),
    applicationId: fromBytes(random.bytes(random.below(4))),
    key: fromBytes(random.bytes(1 + random.below(4))),
  };
}

describe('record keys', () => {
  it('are space, length, application id and key', () => {
    const bytes = encodeKey({
      space: COLLECTION_SPACES.session,
      applicationId: text('app'),
      key: text('k\u00ff'),
    });
    expect(bytes.toString('hex')).toBe(`0203${'617070'}${'6bff'}`);
  });

  it('come back as the record they name', () => {
    const random = new Random(5);
    for (let round = 0; round < 500; round++) {
      const record = name(random);
      expect(decodeKey(encodeKey(record))).toEqual(record);
      expect(keyString(record)).toBe(encodeKey(record).toString('latin1'));
    }
    const longest = { space: 1, applicationId: text('a'.repeat(255)), key: text('k'.repeat(1024)) };
    expect(decodeKey(encodeKey(longest))).toEqual(longest);
  });

  it('lie in the order of space, application id length, application id, key', () => {
    const random = new Random(6);
    const order = (a: RecordName, b: RecordName) =>
      a.space - b.space ||
      a.applicationId.length - b.applicationId.length ||
      (a.applicationId === b.applicationId ? 0 : a.applicationId < b.applicationId ? -1 : 1) ||
      (a.key === b.key ? 0 : a.key < b.key ? -1 : 1);
    for (let round = 0; round < 2000; round++) {
      const [a, b] = [name(random), name(random)];
      expect(Math.sign(Buffer.compare(encodeKey(a), encodeKey(b)))).toBe(Math.sign(order(a, b)));
    }
  });

  it.each(['', '01', '0100', '0001616b', '0601616b', '0103616b', '0102616b'])(
    'are not read from %j',
    (hex) => {
      expect(decodeKey(Buffer.from(hex, 'hex'))).toBeUndefined();
    },
  );

  it('have no more than 1024 bytes of key', () => {
    expect(decodeKey(Buffer.concat([Buffer.from([1, 0]), Buffer.alloc(1025)]))).toBeUndefined();
  });

  it('have the spaces 1 to 5 and 16 to 255', () => {
    const spaces = Array.from({ length: 300 }, (_, space) => space).filter(isSpace);
    expect(spaces).toHaveLength(5 + 240);
    expect([spaces[0], spaces[4], spaces[5], spaces.at(-1)]).toEqual([1, 5, 16, 255]);
  });
});
