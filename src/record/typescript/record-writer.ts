import type { ByteString } from '../../contract/bytes.js';
import type { RecordFacts, Variable } from '../../contract/snapshot.js';
import { ByteWriter } from '../byte-writer.js';
import { Tag } from '../tag.js';
import { isCanonicalDecimal } from './integer.js';
import {
  At,
  CHECKSUM_BYTES,
  FLAG_TIMEOUT,
  HEADER_BYTES,
  MAGIC,
  SCHEMA_VERSION,
  VARIABLE_HEADER_BYTES,
} from './layout.js';
import { xxh32 } from './xxh32.js';

/**
 * Writes one record front to back: header, names, variables, checksum. REQUIRES: fields in their ranges and names in
 * order; `RecordScan.open` on the result tells.
 */
export class RecordWriter {
  readonly out = new ByteWriter(1024);
  #created = 0n;

  /** The header; the bytes of application id and key are to follow. */
  begin(
    space: number,
    applicationIdLength: number,
    keyLength: number,
    revision: number,
    facts: RecordFacts,
    count: number,
  ): void {
    const { out } = this;
    out.at = 0;
    out.reserve(HEADER_BYTES + 8 + applicationIdLength + keyLength);
    const { view } = out;
    view.setUint16(At.magic, MAGIC, true);
    view.setUint8(At.version, SCHEMA_VERSION);
    view.setUint8(At.flags, facts.timeout === undefined ? 0 : FLAG_TIMEOUT);
    view.setUint8(At.space, space);
    view.setUint8(At.applicationIdLength, applicationIdLength);
    view.setUint16(At.keyLength, keyLength, true);
    out.uint64(At.revision, revision);
    view.setBigInt64(At.created, facts.created, true);
    view.setBigInt64(At.updated, facts.updated, true);
    // Eight bytes where the field has six: the variable count then takes the last two.
    out.uint64(At.updateCount, facts.updateCount);
    view.setUint16(At.variableCount, count, true);
    this.#created = facts.created;
    out.at = HEADER_BYTES;
    if (facts.timeout !== undefined) out.int64(facts.timeout);
  }

  /** Bytes as they stand elsewhere: the names of a request, or variables of a record with the same `created`. */
  raw(bytes: Uint8Array): void {
    this.out.reserve(bytes.byteLength);
    this.out.bytes.set(bytes, this.out.at);
    this.out.at += bytes.byteLength;
  }

  /** Returns where the variable begins. */
  variable(name: ByteString, variable: Variable): number {
    const { out } = this;
    const { value, deadline, clock } = variable;
    out.reserve(VARIABLE_HEADER_BYTES + name.length + 20 + Math.max(8, value?.length ?? 0));
    const start = out.at;
    let tag: number = Tag.none;
    out.view.setUint16(start, name.length, true);
    out.at = start + VARIABLE_HEADER_BYTES;
    out.text(name);
    if (deadline !== undefined) {
      tag |= Tag.deadline;
      out.int64(deadline);
    }
    if (clock !== undefined && clock !== this.#created) {
      tag |= Tag.clock;
      out.int64(clock);
    }
    if (value !== undefined) tag |= this.#value(value);
    out.view.setUint8(start + 2, tag);
    return start;
  }

  /** The record with its checksum, a copy. */
  finish(): Buffer {
    const { out } = this;
    out.reserve(CHECKSUM_BYTES);
    out.view.setUint32(out.at, xxh32(out.view, 0, out.at), true);
    out.at += CHECKSUM_BYTES;
    return out.copyFrom(0);
  }

  /** Written as bytes first: whether they are an integer is then seen without a conversion. */
  #value(value: ByteString): number {
    const { out } = this;
    const start = out.at;
    out.at += 4;
    out.text(value);
    if (isCanonicalDecimal(out.view, start + 4, value.length)) {
      out.view.setBigInt64(start, BigInt(value), true);
      out.at = start + 8;
      return Tag.integer;
    }
    out.view.setUint32(start, value.length, true);
    return Tag.bytes;
  }
}
