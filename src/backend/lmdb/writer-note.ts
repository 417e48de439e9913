/**
 * What a TypeScript writer keeps under its own key (layout.ts), in the same transaction as the batch it tells of: whoever
 * replaces a writer that died reads there whether that batch was committed, and which of its requests took effect.
 */
export interface WriterNote {
  readonly sequence: number;
  /** When the batch was written, milliseconds since the epoch: notes of writers that are gone grow old. */
  readonly written: number;
  /** By request: 1 = applied, 0 = refused. */
  readonly applied: Uint8Array;
}

const HEADER_BYTES = 16;

export function encodeWriterNote(note: WriterNote): Buffer {
  const bytes = Buffer.allocUnsafeSlow(HEADER_BYTES + note.applied.length);
  bytes.writeBigUInt64LE(BigInt(note.sequence), 0);
  bytes.writeBigUInt64LE(BigInt(note.written), 8);
  bytes.set(note.applied, HEADER_BYTES);
  return bytes;
}

export function decodeWriterNote(value: Uint8Array): WriterNote {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length);
  return {
    sequence: Number(bytes.readBigUInt64LE(0)),
    written: Number(bytes.readBigUInt64LE(8)),
    applied: Uint8Array.from(bytes.subarray(HEADER_BYTES)),
  };
}
