import { type ByteString, fromBytes } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';
import { isTimedOut } from '../../record/apply.js';
import { type Change, nextRevision } from '../../record/batch.js';
import { Corruption } from '../../record/corruption.js';
import { encodeKey } from '../../record/key.js';
import type { StoredRecord } from '../../record/record.js';
import { corruptRecord } from '../../record/refusal.js';
import { typescriptCodec } from '../../record/typescript/codec.js';
import { REVISION_KEY } from './layout.js';
import type { PackageEnvironment } from './lmdb-package.js';
import type { OnConflict, RestoreAnswer } from './native-addon.js';
import { snapshotOfStored } from './stored-record.js';
import { readRevision } from './typescript-environment.js';

const LENGTH_BYTES = 4;

/** u32 length and the record, one after the other: how records cross to the writer. */
export function packRecords(records: readonly Uint8Array[]): Uint8Array {
  const bytes = records.reduce((sum, record) => sum + LENGTH_BYTES + record.byteLength, 0);
  const packed = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const record of records) {
    at = packed.writeUInt32LE(record.byteLength, at);
    packed.set(record, at);
    at += record.byteLength;
  }
  return packed;
}

/** What native/core/environment_restore.h does, inside a transaction made of JavaScript. */
export class Restorer {
  readonly #records: { readonly record: StoredRecord; readonly key: Buffer }[] = [];

  /** Throws `corrupt_data` where one of the packed records is none. */
  constructor(packed: Uint8Array) {
    const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    for (let at = 0; at < bytes.byteLength; ) {
      const start = at + LENGTH_BYTES;
      const end = start + (start <= bytes.byteLength ? bytes.readUInt32LE(at) : 0);
      if (start > bytes.byteLength || end > bytes.byteLength) throw corruptRecord(Corruption.truncated);
      const record = typescriptCodec.decode(bytes.subarray(start, end));
      this.#records.push({ record, key: encodeKey(record.name) });
      at = end;
    }
  }

  /** `full`: there is no room for all, and nothing was changed. */
  run(
    data: PackageEnvironment,
    onConflict: OnConflict,
    now: bigint,
    fits: (changes: readonly Change[]) => boolean,
  ): RestoreAnswer | 'full' {
    let revision = readRevision(data.getBinaryFast(REVISION_KEY));
    let skipped = 0;
    const changes: { readonly key: Buffer; readonly record: Buffer }[] = [];
    const taken = new Set<ByteString>();
    for (const { record, key } of this.#records) {
      const name = fromBytes(key);
      if (onConflict !== 'replace' && (taken.has(name) || isTaken(data, key, now))) {
        skipped++;
        if (onConflict === 'fail') return { restored: 0, skipped, conflict: true };
        continue;
      }
      revision = nextRevision(revision);
      if (!isTimedOut(record.facts, now)) taken.add(name);
      changes.push({ key, record: Buffer.from(typescriptCodec.encode({ ...record, revision })) });
    }
    if (changes.length === 0) return { restored: 0, skipped, conflict: false };
    if (!fits(changes)) return 'full';
    for (const { key, record } of changes) data.putSync(key, record);
    const newest = Buffer.allocUnsafeSlow(8);
    newest.writeBigUInt64LE(BigInt(revision));
    data.putSync(REVISION_KEY, newest);
    return { restored: changes.length, skipped, conflict: false };
  }
}

function isTaken(data: PackageEnvironment, key: Buffer, now: bigint): boolean {
  const value = data.getBinaryFast(key);
  if (value === undefined) return false;
  try {
    return snapshotOfStored(value.subarray(0, value.length), fromBytes(key), now, false).revision !== 0;
  } catch (error) {
    if (error instanceof WafStateError && error.code === 'corrupt_data') return true;
    throw error;
  }
}
