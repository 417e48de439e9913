import type { ScanEntry, ScanPage, ScanQuery } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';
import type { RecordName } from '../../contract/space.js';
import { decodeKey, keyString } from '../../record/key.js';
import type { Environment, StoredPage } from './environment.js';
import { snapshotOfStored } from './stored-record.js';

/** Records that one page looks at beyond its entries, so that a stretch of timed-out ones holds nobody up. */
const LOOK_BEYOND = 10_000;

/** A page in byte order of the keys. */
export function scan(environment: Environment, query: ScanQuery): ScanPage {
  const prefix = prefixOf(query);
  const entries: ScanEntry[] = [];
  let from = query.after === undefined ? prefix : keyString(query.after);
  let exclusive = query.after !== undefined;
  let left = query.limit + LOOK_BEYOND;
  for (;;) {
    // One more than is wanted, to know whether anything follows.
    const page = environment.page(from, exclusive, prefix, Math.min(query.limit - entries.length + 1, left));
    for (const [index, { key, record }] of page.entries.entries()) {
      const entry = entryOf(key, record, query);
      if (entry === undefined) continue;
      if (entries.length === query.limit) return { entries, next: nameBefore(page, index, from) };
      entries.push(entry);
    }
    if (page.next === undefined) return { entries, next: undefined };
    left -= page.entries.length;
    if (left <= 0) return { entries, next: decodeKey(Buffer.from(page.next, 'latin1')) };
    from = page.next;
    exclusive = true;
  }
}

function prefixOf({ space, applicationId, prefix }: ScanQuery): ByteString {
  if (space === undefined) return '' as ByteString;
  const first = String.fromCharCode(space);
  if (applicationId === undefined) return first as ByteString;
  return (first + String.fromCharCode(applicationId.length) + applicationId + (prefix ?? '')) as ByteString;
}

/** Undefined for what the query does not want, and for keys that no record has. */
function entryOf(
  key: ByteString,
  stored: Uint8Array | WafStateError,
  query: ScanQuery,
): ScanEntry | undefined {
  const record = decodeKey(Buffer.from(key, 'latin1'));
  if (record === undefined) return undefined;
  if (stored instanceof WafStateError) return { record, error: stored };
  try {
    const snapshot = snapshotOfStored(stored, key, query.now, query.hidden === true);
    return snapshot.revision === 0 ? undefined : { record, snapshot };
  } catch (error) {
    if (error instanceof WafStateError) return { record, error };
    throw error;
  }
}

/** What was looked at last before the entry that did not fit. */
function nameBefore(page: StoredPage, index: number, from: ByteString): RecordName | undefined {
  return decodeKey(Buffer.from(page.entries[index - 1]?.key ?? from, 'latin1'));
}
