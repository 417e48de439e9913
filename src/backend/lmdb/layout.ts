import type { ByteString } from '../../contract/bytes.js';

/**
 * What an environment looks like on disk, whichever implementation opened it. docs/lmdb.md draws it.
 *
 *     <path>/          the environment of the records, unnamed database, keys as in docs/format.md
 *       data.mdb
 *       lock.mdb
 *     <path>/gate/     an environment that stays empty: its write lock is the gate
 *       data.mdb
 *       lock.mdb
 *
 * Keys of space 0 are the engine's own, all integers little-endian:
 *
 *     00 01            environment: 57 45 ("WE"), u8 format 1, u8 durability (1 durable, 2 relaxed)
 *     00 02            u64, the last revision given out
 *     00 03            the key that the last cleanup looked at last; absent: the next one begins at the first record
 *     00 04            i64, when the last sweep began, nanoseconds since the epoch by the system's clock
 *     00 05 · 16 bytes a TypeScript writer: u64 sequence of its last batch, u64 when that was in milliseconds, then one byte a request of
 *                      that batch, 1 = applied. The C++ writer needs none: its answers outlive the thread that asked.
 */
export const DATA_FILE = 'data.mdb';
export const LOCK_FILE = 'lock.mdb';
export const GATE_DIRECTORY = 'gate';

/** How much of the gate each implementation maps. It tells in /proc/self/maps which one has an environment open. */
export const PACKAGE_GATE_MAP_BYTES = 2 ** 20;
export const NATIVE_GATE_MAP_BYTES = 2 ** 17;

export const ENVIRONMENT_KEY = '\x00\x01' as ByteString;
export const REVISION_KEY = '\x00\x02' as ByteString;
export const CURSOR_KEY = '\x00\x03' as ByteString;
export const SWEEP_KEY = '\x00\x04' as ByteString;
export const WRITER_KEY_PREFIX = '\x00\x05' as ByteString;

/** The first key that can be a record's. */
export const FIRST_RECORD_KEY = '\x01' as ByteString;

/** The largest key of the liblmdb that the `lmdb` package ships, in bytes. */
export const MAX_KEY_BYTES = 1978;

export type Durability = 'durable' | 'relaxed';

const ENVIRONMENT_MAGIC = 'WE';
export const ENVIRONMENT_FORMAT = 1;
const DURABILITIES: readonly Durability[] = ['durable', 'relaxed'];

export function encodeEnvironment(durability: Durability): Uint8Array {
  return Buffer.from([
    ...Buffer.from(ENVIRONMENT_MAGIC),
    ENVIRONMENT_FORMAT,
    DURABILITIES.indexOf(durability) + 1,
  ]);
}

/** The durability noted in the environment, or the number of another format; undefined where the bytes are no such note. */
export function decodeEnvironment(bytes: Uint8Array): Durability | { readonly format: number } | undefined {
  const [first = 0, second = 0, format = 0, durability = 0] = bytes;
  if (bytes.byteLength < 4 || String.fromCharCode(first, second) !== ENVIRONMENT_MAGIC) return undefined;
  if (format !== ENVIRONMENT_FORMAT) return { format };
  return bytes.byteLength === 4 ? DURABILITIES[durability - 1] : undefined;
}

/** lock.mdb as liblmdb lays it out: a header of 272 bytes that holds the first reader, then 64 bytes for each other. */
export function lockFileBytes(maxReaders: number): number {
  return (maxReaders - 1) * 64 + 272;
}
