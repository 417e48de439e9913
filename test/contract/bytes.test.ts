import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ByteString,
  compareBytes,
  decodeText,
  encodeText,
  fromBytes,
  lowerAscii,
  toBytes,
} from '../../src/contract/bytes.js';

const bytes = fc.uint8Array({ maxLength: 64 });

describe('byte strings', () => {
  it('carry well-formed text as UTF-8 and back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        if (!text.isWellFormed()) return;
        const encoded = encodeText(text) as ByteString;
        expect(toBytes(encoded)).toEqual(Buffer.from(text, 'utf8'));
        expect(decodeText(encoded)).toBe(text);
      }),
    );
  });

  it('take ASCII as it is', () => {
    expect(encodeText('ip.dos_counter')).toBe('ip.dos_counter');
  });

  it('encode é as two bytes, not as its Latin-1 one', () => {
    expect(toBytes(encodeText('é') as ByteString)).toEqual(Buffer.from([0xc3, 0xa9]));
  });

  it('refuse lone surrogates', () => {
    for (const text of ['\ud800', 'a\udc00b', '\udc00\ud800']) expect(encodeText(text)).toBeUndefined();
  });

  it('show bytes that are not UTF-8 as U+FFFD', () => {
    expect(decodeText(fromBytes(Uint8Array.of(0x61, 0xff)))).toBe('a\ufffd');
  });

  it('carry any bytes and back', () => {
    fc.assert(
      fc.property(bytes, (array) => {
        const text = fromBytes(array);
        expect(text.length).toBe(array.length);
        expect(new Uint8Array(toBytes(text))).toEqual(new Uint8Array(array));
      }),
    );
  });

  it('read a view, not the buffer below it', () => {
    expect(fromBytes(Uint8Array.of(0x61, 0x62, 0x63, 0x64).subarray(1, 3))).toBe('bc');
  });

  it('are copies', () => {
    const source = Uint8Array.of(0x61);
    const text = fromBytes(source);
    source[0] = 0x62;
    expect(text).toBe('a');
  });

  it('fold A to Z and nothing else', () => {
    fc.assert(
      fc.property(bytes, (array) => {
        const folded = array.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));
        expect(lowerAscii(fromBytes(array))).toBe(fromBytes(folded));
      }),
    );
    // Latin-1's own capitals are halves of UTF-8 sequences here: folding them would break the text.
    expect(lowerAscii('\u00c0A\u00de' as ByteString)).toBe('\u00c0a\u00de');
  });

  it('compare as memcmp does', () => {
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(Math.sign(compareBytes(fromBytes(a), fromBytes(b)))).toBe(Buffer.compare(a, b));
      }),
    );
  });
});
