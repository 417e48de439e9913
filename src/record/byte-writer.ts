import type { ByteString } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';

/** Where a native copy of a string begins to be cheaper than a loop over its characters. */
const SHORT = 24;

/**
 * Little-endian bytes into a buffer that grows and is used again. `reserve` comes before any write, so that the
 * writes themselves need no check; `at` is the writer's own to move.
 */
export class ByteWriter {
  bytes: Buffer<ArrayBuffer>;
  view: DataView;
  /** Where the next byte goes. */
  at = 0;

  constructor(capacity: number) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Makes room for `count` more bytes after `at`. */
  reserve(count: number): void {
    const needed = this.at + count;
    if (needed <= this.bytes.length) return;
    const grown = allocate(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(grown, 0, 0, this.at);
    this.bytes = grown;
    this.view = new DataView(grown.buffer);
  }

  /** REQUIRES: room for one byte a character. */
  text(text: ByteString): void {
    const { bytes, at } = this;
    const length = text.length;
    if (length > SHORT) {
      bytes.write(text, at, 'latin1');
    } else {
      for (let i = 0; i < length; i++) bytes[at + i] = text.charCodeAt(i);
    }
    this.at = at + length;
  }

  /** An unsigned integer of up to 53 bits. REQUIRES: room for eight bytes. */
  uint64(at: number, value: number): void {
    this.view.setUint32(at, value >>> 0, true);
    this.view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
  }

  /** REQUIRES: room for eight bytes. */
  int64(value: bigint): void {
    this.view.setBigInt64(this.at, value, true);
    this.at += 8;
  }

  /** A copy of what was written from `start` on. */
  copyFrom(start: number): Buffer {
    const copy = Buffer.allocUnsafe(this.at - start);
    this.bytes.copy(copy, 0, start, this.at);
    return copy;
  }
}

/** Throws `capacity_exceeded` where the machine has no memory left, and nothing is lost but this. */
function allocate(size: number): Buffer<ArrayBuffer> {
  try {
    return Buffer.allocUnsafeSlow(size);
  } catch (cause) {
    throw new WafStateError(
      'capacity_exceeded',
      `there is no memory for ${size} bytes of commits that wait; lower queueBytes, or give the process more memory`,
      { details: { actual: size }, cause },
    );
  }
}

/** The same bytes with Node's methods; no copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
