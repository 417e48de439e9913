/** Where the fields of a record stand: docs/format.md, Record. */
export const MAGIC = 0x5257;
export const SCHEMA_VERSION = 1;

export const At = {
  magic: 0,
  version: 2,
  flags: 3,
  space: 4,
  applicationIdLength: 5,
  keyLength: 6,
  revision: 8,
  created: 16,
  updated: 24,
  updateCount: 32,
  variableCount: 38,
  timeout: 40,
} as const;

export const HEADER_BYTES = 40;
export const CHECKSUM_BYTES = 4;
/** Name length and tag. */
export const VARIABLE_HEADER_BYTES = 3;

export const FLAG_TIMEOUT = 1;

/**
 * The last two views that were made, since most records need none of their own: LMDB hands out one and the same buffer
 * for every read, and small results share Node's pool. Positions are those of the buffer.
 */
let newest: DataView = new DataView(new ArrayBuffer(0));
let older: DataView = newest;

export function viewOf(buffer: ArrayBufferLike): DataView {
  if (newest.buffer === buffer) return newest;
  const view = older.buffer === buffer ? older : new DataView(buffer);
  older = newest;
  newest = view;
  return view;
}
