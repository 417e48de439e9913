import { type ByteString, fromBytes } from '../../contract/bytes.js';
import type { Snapshot } from '../../contract/snapshot.js';
import { Corruption } from '../../record/corruption.js';
import { encodeKey } from '../../record/key.js';
import { corruptRecord } from '../../record/refusal.js';
import { snapshotOf } from '../../record/snapshot.js';
import { typescriptCodec } from '../../record/typescript/codec.js';

/** Stored bytes as a reader sees them at `now`. Throws `corrupt_data`, also where they are another record's. */
export function snapshotOfStored(bytes: Uint8Array, key: ByteString, now: bigint, hidden: boolean): Snapshot {
  const record = typescriptCodec.decode(bytes);
  if (fromBytes(encodeKey(record.name)) !== key) throw corruptRecord(Corruption.otherName);
  return snapshotOf(record, now, hidden);
}
