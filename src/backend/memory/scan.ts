import type { ScanEntry, ScanPage, ScanQuery } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import type { RecordName } from '../../contract/space.js';
import type { MemoryRecord } from './memory-record.js';
import { compareShelves, orderOf, type Shelf, type Table } from './table.js';

/** Records that one page looks at beyond its entries, so that a stretch of timed-out ones holds nobody up. */
const LOOK_BEYOND = 10_000;

/** A page in byte order of space, application id length, application id and key. */
export function scan(table: Table, query: ScanQuery): ScanPage {
  const entries: ScanEntry[] = [];
  const hidden = query.hidden === true;
  let looked = 0;
  let last: RecordName | undefined;
  for (const record of matching(table, query)) {
    if (entries.length === query.limit || looked === query.limit + LOOK_BEYOND)
      return { entries, next: last };
    looked++;
    last = record.name;
    if (hidden || !record.isTimedOut(query.now)) {
      entries.push({ record: record.name, snapshot: record.snapshot(query.now, hidden) });
    }
  }
  return { entries, next: undefined };
}

function* matching(table: Table, query: ScanQuery): Generator<MemoryRecord> {
  const { space, applicationId, after } = query;
  const prefix = query.prefix ?? ('' as ByteString);
  for (const shelf of table.shelves(space, applicationId)) {
    const place = after === undefined ? 1 : compareShelves(shelf, after);
    if (place < 0) continue;
    for (const record of from(shelf, prefix, place === 0 ? after?.key : undefined)) {
      if (!record.name.key.startsWith(prefix)) break;
      yield record;
    }
  }
}

function from(shelf: Shelf, prefix: ByteString, after: ByteString | undefined): Generator<MemoryRecord> {
  const order = orderOf(shelf);
  return after !== undefined && after >= prefix
    ? order.startingAt(after, true)
    : order.startingAt(prefix, false);
}
