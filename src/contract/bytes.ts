/**
 * Byte strings: how names, values and keys travel through wafstate.
 *
 * A `ByteString` (the term is WebIDL's) is a JavaScript string whose every code unit is one byte, 0 to 255. V8
 * keeps such a string in one byte a character, compares and hashes it natively, and crosses N-API without a
 * conversion, so it serves as exact bytes and as a Map key at once. ASCII text is its own byte string.
 */
declare const byteString: unique symbol;
export type ByteString = string & { readonly [byteString]: true };

const BEYOND_ASCII = /[\u0080-\uffff]/;
const UPPER = /[A-Z]/;

/** Text as its UTF-8 bytes; undefined if it has a lone surrogate, which no UTF-8 can express. */
export function encodeText(text: string): ByteString | undefined {
  if (!BEYOND_ASCII.test(text)) return text as ByteString;
  if (!text.isWellFormed()) return undefined;
  return Buffer.from(text, 'utf8').toString('latin1') as ByteString;
}

/** The text of UTF-8 bytes. Bytes that are not UTF-8 come out as U+FFFD: use `toBytes` where they must be exact. */
export function decodeText(bytes: ByteString): string {
  return BEYOND_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
}

export function fromBytes(bytes: Uint8Array): ByteString {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1') as ByteString;
}

/** A copy of the bytes, the caller's to keep. */
export function toBytes(bytes: ByteString): Buffer {
  return Buffer.from(bytes, 'latin1');
}

/** A to Z in lower case, every other byte as it is: how variable names compare. */
export function lowerAscii(bytes: ByteString): ByteString {
  if (!UPPER.test(bytes)) return bytes;
  if (!BEYOND_ASCII.test(bytes)) return bytes.toLowerCase() as ByteString;
  return bytes.replace(/[A-Z]+/g, (run) => run.toLowerCase()) as ByteString;
}

/** Byte order, as memcmp: negative, zero or positive. */
export function compareBytes(a: ByteString, b: ByteString): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
