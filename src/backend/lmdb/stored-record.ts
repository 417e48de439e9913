import { type ByteString, fromBytes } from '../../contract/bytes.js';
import { ABSENT, type Snapshot, type Variable } from '../../contract/snapshot.js';
import { isVisible } from '../../contract/variable.js';
import { isTimedOut } from '../../record/apply.js';
import { Corruption } from '../../record/corruption.js';
import { encodeKey } from '../../record/key.js';
import type { StoredRecord } from '../../record/record.js';
import { corruptRecord } from '../../record/refusal.js';
import { typescriptCodec } from '../../record/typescript/codec.js';

/** Stored bytes as a reader sees them at `now`. Throws `corrupt_data`, also where they are another record's. */
export function snapshotOf(bytes: Uint8Array, key: ByteString, now: bigint, hidden: boolean): Snapshot {
  const record = typescriptCodec.decode(bytes);
  requireKey(record, key);
  if (!hidden && isTimedOut(record.facts, now)) return ABSENT;
  return { revision: record.revision, facts: record.facts, variables: visible(record, now, hidden) };
}

function requireKey(record: StoredRecord, key: ByteString): void {
  if (fromBytes(encodeKey(record.name)) !== key) throw corruptRecord(Corruption.otherName);
}

function visible(record: StoredRecord, now: bigint, hidden: boolean): ReadonlyMap<ByteString, Variable> {
  if (hidden) return record.variables;
  const variables = new Map<ByteString, Variable>();
  for (const [name, variable] of record.variables)
    if (isVisible(variable, now)) variables.set(name, variable);
  return variables;
}
