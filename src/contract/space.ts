import type { ByteString } from './bytes.js';

/** The five collections of ModSecurity, by the byte that leads their records' names. */
export const COLLECTION_SPACES = { ip: 1, session: 2, user: 3, global: 4, resource: 5 } as const;

export type CollectionName = keyof typeof COLLECTION_SPACES;

/** The first space of the key-value stores; below it are the collections, 0 is the engines' own. */
export const FIRST_STORE_SPACE = 16;
export const MAX_SPACE = 255;

/** At most this many bytes of application id, on every engine. */
export const MAX_APPLICATION_ID_BYTES = 255;

/** What names a record: nothing else tells two records apart, and all three do. */
export interface RecordName {
  /** 1 to 5 a collection, 16 to 255 a key-value store. */
  readonly space: number;
  /** 0 to 255 bytes. */
  readonly applicationId: ByteString;
  /** 1 to `limits.keyBytes` opaque, case-sensitive bytes. */
  readonly key: ByteString;
}

const NAMES = new Map<number, CollectionName>(
  Object.entries(COLLECTION_SPACES).map(([name, space]) => [space, name as CollectionName]),
);

/** The word by which people know a space: `ip`, or `store 16`. */
export function spaceName(space: number): string {
  return NAMES.get(space) ?? `store ${space}`;
}
