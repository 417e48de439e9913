import { describe, expect, it } from 'vitest';
import { xxh32 } from '../../src/record/typescript/xxh32.js';

/** The buffer of xxHash's own sanity check (tests/sanity_test.c): the top byte of a running 64-bit product. */
function sanityBuffer(length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let generator = 2654435761n;
  for (let i = 0; i < length; i++) {
    buffer[i] = Number(generator >> 56n);
    generator = BigInt.asUintN(64, generator * 11400714785074694797n);
  }
  return buffer;
}

function checksum(bytes: Buffer): number {
  return xxh32(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, bytes.byteLength);
}

describe('xxh32', () => {
  it.each([
    [0, 0x02cc5d05],
    [1, 0xcf65b03e],
    [14, 0x1208e7e2],
    [222, 0x5bd11dbd],
  ])('gives the official checksum of the first %i bytes', (length, expected) => {
    expect(checksum(sanityBuffer(length))).toBe(expected);
  });

  it('takes stripes, words and bytes', () => {
    expect(checksum(Buffer.from('Nobody inspects the spammish repetition'))).toBe(0xe2293b2f);
  });

  it('reads only its range', () => {
    const padded = Buffer.concat([Buffer.from('???'), sanityBuffer(222), Buffer.from('!!!')]);
    expect(xxh32(new DataView(padded.buffer, padded.byteOffset), 3, 222)).toBe(0x5bd11dbd);
  });
});
