import type { CleanupBudget } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';
import type { Variable } from '../../contract/snapshot.js';
import { isExpired } from '../../contract/variable.js';
import { isTimedOut } from '../../record/apply.js';
import { type Change, nextRevision } from '../../record/batch.js';
import type { StoredRecord } from '../../record/record.js';
import { typescriptCodec } from '../../record/typescript/codec.js';
import { CURSOR_KEY, FIRST_RECORD_KEY, REVISION_KEY, SWEEP_KEY, WRITER_KEY_PREFIX } from './layout.js';
import type { PackageEnvironment } from './lmdb-package.js';
import { readRevision } from './typescript-environment.js';
import { decodeWriterNote } from './writer-note.js';
import type { SweepAnswer } from './writer-task.js';

/** A note this old belongs to a writer that is gone: a living one is asked for its note seconds after the batch. */
const NOTE_MILLISECONDS = 24 * 3_600_000;

/**
 * One slice of a cleanup, inside a write transaction. It goes on behind the key where the last slice of any process stopped, and
 * does the same as native/core/sweep.h. `interval` above 0: only if no sweep of any process began within so many
 * nanoseconds.
 */
export function sweepSlice(
  data: PackageEnvironment,
  now: bigint,
  budget: CleanupBudget,
  interval: bigint,
  fits: (changes: readonly Change[]) => boolean,
): SweepAnswer {
  const nothing = { recordsExamined: 0, recordsRemoved: 0, variablesRemoved: 0, wrapped: false };
  if (interval > 0n && !claimSweep(data, interval)) return { ...nothing, skipped: true };
  const figures = { ...nothing };
  const changes: Change[] = [];
  let variables = 0;
  let revision = readRevision(data.getBinaryFast(REVISION_KEY));
  let last: ByteString | undefined;
  let wrapped = true;
  for (const { key, value } of data.getRange(rangeOf(data, budget))) {
    if (figures.recordsExamined === budget.records) {
      wrapped = false;
      break;
    }
    const record = decode(value);
    const count = record?.variables.size ?? 0;
    if (figures.recordsExamined > 0 && variables + count > budget.variables) {
      wrapped = false;
      break;
    }
    figures.recordsExamined++;
    variables += count;
    last = key;
    if (record === undefined) continue;
    const kept = isTimedOut(record.facts, now) ? undefined : unexpired(record, now);
    if (kept === undefined || kept.size === 0) {
      figures.recordsRemoved++;
      if (kept !== undefined) figures.variablesRemoved += count;
      changes.push({ key: Buffer.from(key, 'latin1'), record: undefined });
    } else if (kept.size < count) {
      figures.variablesRemoved += count - kept.size;
      revision = nextRevision(revision);
      changes.push({
        key: Buffer.from(key, 'latin1'),
        record: Buffer.from(typescriptCodec.encode({ ...record, revision, variables: kept })),
      });
    }
  }
  publish(data, fits(changes) ? changes : changes.filter(({ record }) => record === undefined));
  storeRevision(data, revision);
  if (wrapped || last === undefined) {
    data.removeSync(CURSOR_KEY);
    dropOldNotes(data);
  } else data.putSync(CURSOR_KEY, Buffer.from(last, 'latin1'));
  return { ...figures, wrapped, skipped: false };
}

function rangeOf(
  data: PackageEnvironment,
  budget: CleanupBudget,
): { start: ByteString; exclusiveStart: boolean; limit: number; snapshot: true } {
  const cursor = data.getBinaryFast(CURSOR_KEY);
  const start =
    cursor === undefined
      ? FIRST_RECORD_KEY
      : (Buffer.from(cursor.subarray(0, cursor.length)).toString('latin1') as ByteString);
  return { start, exclusiveStart: cursor !== undefined, limit: budget.records + 1, snapshot: true };
}

/** By the system's clock, which all processes share, not by the one that the caller may have brought. */
function claimSweep(data: PackageEnvironment, interval: bigint): boolean {
  const now = BigInt(Date.now()) * 1_000_000n;
  const last = data.getBinaryFast(SWEEP_KEY);
  if (last !== undefined) {
    const began = Buffer.from(last.buffer, last.byteOffset, 8).readBigInt64LE();
    if (began <= now && now - began < interval) return false;
  }
  const bytes = Buffer.allocUnsafeSlow(8);
  bytes.writeBigInt64LE(now);
  data.putSync(SWEEP_KEY, bytes);
  return true;
}

/** A corrupt record is not cleanup's to judge: it stays until somebody looks at it. */
function decode(value: Uint8Array): StoredRecord | undefined {
  try {
    return typescriptCodec.decode(value);
  } catch (error) {
    if (error instanceof WafStateError && error.code === 'corrupt_data') return undefined;
    throw error;
  }
}

function unexpired(record: StoredRecord, now: bigint): Map<ByteString, Variable> {
  const kept = new Map<ByteString, Variable>();
  for (const [name, variable] of record.variables) if (!isExpired(variable, now)) kept.set(name, variable);
  return kept;
}

function publish(data: PackageEnvironment, changes: readonly Change[]): void {
  for (const { key, record } of changes) {
    if (record === undefined) data.removeSync(key);
    else data.putSync(key, record);
  }
}

function storeRevision(data: PackageEnvironment, revision: number): void {
  const bytes = Buffer.allocUnsafeSlow(8);
  bytes.writeBigUInt64LE(BigInt(revision));
  data.putSync(REVISION_KEY, bytes);
}

function dropOldNotes(data: PackageEnvironment): void {
  const old: ByteString[] = [];
  for (const { key, value } of data.getRange({
    start: WRITER_KEY_PREFIX,
    exclusiveStart: false,
    limit: 10_000,
    snapshot: true,
  })) {
    if (!key.startsWith(WRITER_KEY_PREFIX)) break;
    if (decodeWriterNote(value).written < Date.now() - NOTE_MILLISECONDS) old.push(key);
  }
  for (const key of old) data.removeSync(key);
}
