import type { ScanEntry, ScanPage, ScanQuery } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import { recordCodec } from '../../record/codec.js';
import { encodeKey } from '../../record/key.js';
import { snapshotOf } from '../../record/snapshot.js';
import type { TableHandle } from './table.js';

/** Records that one step looks at: less than a millisecond, then other work runs. */
const STEP = 4096;
const EVERYTHING = Buffer.alloc(0);

/**
 * A page in byte order. The table has no order, so a page looks at every record and keeps the first ones: O(records) a page,
 * a second and more for ten million, in steps between which other work runs.
 */
export async function scan(table: TableHandle, query: ScanQuery): Promise<ScanPage> {
  const hidden = query.hidden === true;
  const after = query.after === undefined ? EVERYTHING : encodeKey(query.after);
  const state = table.beginScan(prefixOf(query), after, query.limit, query.now, hidden);
  for (;;) {
    const page = table.goOnWithScan(state, STEP);
    if (page !== undefined) {
      const entries = page.records.map((bytes) => entryOf(bytes, query.now, hidden));
      return { entries, next: page.more ? entries.at(-1)?.record : undefined };
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function entryOf(bytes: Buffer, now: bigint, hidden: boolean): ScanEntry {
  const record = recordCodec().decode(bytes);
  return { record: record.name, snapshot: snapshotOf(record, now, hidden) };
}

/** How the keys that the query asks for begin: docs/format.md, Key. */
function prefixOf({ space, applicationId, prefix }: ScanQuery): Buffer {
  if (space === undefined) return EVERYTHING;
  if (applicationId === undefined) return Buffer.of(space);
  return encodeKey({ space, applicationId, key: prefix ?? ('' as ByteString) });
}
