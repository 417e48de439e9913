import type { ByteString } from '../contract/bytes.js';
import type { RecordFacts, Variable } from '../contract/snapshot.js';
import type { RecordName } from '../contract/space.js';
import type { Corruption } from './corruption.js';

/** A whole record, as decoded: what docs/format.md writes down. */
export interface StoredRecord {
  readonly name: RecordName;
  readonly revision: number;
  readonly facts: RecordFacts;
  /** In byte order of the names, hidden ones too. */
  readonly variables: ReadonlyMap<ByteString, Variable>;
}

/** What `apply` leaves. */
export interface Applied {
  /** The record as the last request that was applied leaves it. `undefined`: removed, or none was applied. */
  readonly record: Uint8Array | undefined;
  /** One answer a request in the reply grammar, applied or refused. */
  readonly answer: Uint8Array;
}

/** Bytes to record and back, and the application of a batch. Two implementations, equal byte for byte. */
export interface RecordCodec {
  readonly implementation: 'native' | 'typescript';
  /** Checks every byte: `none`, or the first reason why this is no record. */
  check(bytes: Uint8Array): Corruption;
  /** Throws `corrupt_data`, naming the reason and never the content. */
  decode(bytes: Uint8Array): StoredRecord;
  /** REQUIRES: fields in their ranges, names in order. Throws `corrupt_data` where the result would be no record. */
  encode(record: StoredRecord): Uint8Array;
  /**
   * Requests with exactly one write each (docs/format.md, Batch) on one record, one after the other as in a batch; the
   * first gets `revision`, the next the one after it. At least one: no bytes are a malformed one. Never throws for what the
   * bytes hold: malformed requests and corrupt records are answers.
   */
  apply(existing: Uint8Array | undefined, requests: Uint8Array, revision: number): Applied;
}
