import { type ByteString, fromBytes } from '../contract/bytes.js';
import { COLLECTION_SPACES, FIRST_STORE_SPACE, MAX_SPACE, type RecordName } from '../contract/space.js';

/** Bytes of key that the formats can hold; `limits.keyBytes` never exceeds it. */
export const MAX_KEY_BYTES = 1024;

/** The keys of ordered engines: docs/format.md, Key. Byte order is order by space, application id and key. */
export function encodeKey(record: RecordName): Buffer {
  const { space, applicationId, key } = record;
  const bytes = Buffer.allocUnsafe(2 + applicationId.length + key.length);
  bytes[0] = space;
  bytes[1] = applicationId.length;
  bytes.write(applicationId, 2, 'latin1');
  bytes.write(key, 2 + applicationId.length, 'latin1');
  return bytes;
}

/** The same bytes as a string: what a Map is keyed by. */
export function keyString(record: RecordName): ByteString {
  const { space, applicationId, key } = record;
  return (String.fromCharCode(space, applicationId.length) + applicationId + key) as ByteString;
}

/** The record that a key names; `undefined` if it is none that this codec writes, such as the engine's own. */
export function decodeKey(bytes: Uint8Array): RecordName | undefined {
  const space = bytes[0];
  const split = 2 + (bytes[1] ?? 0);
  const keyLength = bytes.length - split;
  if (space === undefined || !isSpace(space) || keyLength < 1 || keyLength > MAX_KEY_BYTES) return undefined;
  return {
    space,
    applicationId: fromBytes(bytes.subarray(2, split)),
    key: fromBytes(bytes.subarray(split)),
  };
}

/** Whether records may live there: 1 to 5 and 16 to 255. */
export function isSpace(space: number): boolean {
  return (
    (space >= COLLECTION_SPACES.ip && space <= COLLECTION_SPACES.resource) ||
    (space >= FIRST_STORE_SPACE && space <= MAX_SPACE)
  );
}
