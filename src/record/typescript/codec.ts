import type { ByteString } from '../../contract/bytes.js';
import type { Variable } from '../../contract/snapshot.js';
import { Corruption } from '../corruption.js';
import type { Applied, RecordCodec, StoredRecord } from '../record.js';
import { corruptRecord } from '../refusal.js';
import { RequestReader } from '../request-reader.js';
import { MALFORMED } from '../status.js';
import { Applier } from './applier.js';
import { RecordWriter } from './record-writer.js';
import { ReplyWriter } from './reply-writer.js';
import { RecordScan } from './scan.js';

/** Records in TypeScript: the same bytes as native/core, at the speed that JavaScript has. */
class TypeScriptCodec implements RecordCodec {
  readonly implementation = 'typescript';
  readonly #scan = new RecordScan();
  readonly #writer = new RecordWriter();
  readonly #applier = new Applier();
  readonly #request = new RequestReader();
  readonly #reply = new ReplyWriter();

  check(bytes: Uint8Array): Corruption {
    return this.#scan.open(bytes);
  }

  decode(bytes: Uint8Array): StoredRecord {
    const scan = this.#scan;
    const corruption = scan.open(bytes);
    if (corruption !== Corruption.none) throw corruptRecord(corruption);
    const variables = new Map<ByteString, Variable>();
    for (let i = 0; i < scan.count; i++) variables.set(scan.name(i), scan.variable(i));
    const key = scan.names + scan.applicationIdLength;
    return {
      name: {
        space: scan.space,
        applicationId: scan.text(scan.names, key),
        key: scan.text(key, key + scan.keyLength),
      },
      revision: scan.revision,
      facts: scan.facts,
      variables,
    };
  }

  encode(record: StoredRecord): Uint8Array {
    const writer = this.#writer;
    const { space, applicationId, key } = record.name;
    writer.begin(
      space,
      applicationId.length,
      key.length,
      record.revision,
      record.facts,
      record.variables.size,
    );
    writer.out.text(applicationId);
    writer.out.text(key);
    for (const [name, variable] of record.variables) {
      // The writer would take it for the record's `created`.
      if (variable.value !== undefined && variable.clock === undefined) throw corruptRecord(Corruption.clock);
      writer.variable(name, variable);
    }
    const bytes = writer.finish();
    const corruption = this.#scan.open(bytes);
    if (corruption !== Corruption.none) throw corruptRecord(corruption);
    return bytes;
  }

  apply(existing: Uint8Array | undefined, requests: Uint8Array, revision: number): Applied {
    const reader = this.#request;
    reader.open(requests);
    this.#reply.clear();
    let current = existing;
    let record: Uint8Array | undefined;
    let start = 0;
    let next = revision;
    do {
      const end = reader.endOf(start);
      if (this.#applyOne(current, start, end, next++)) current = record = this.#applier.record;
      start = end;
    } while (start < requests.byteLength);
    return { record, answer: this.#reply.copy() };
  }

  /** Whether the request was applied. Its answer is written either way. */
  #applyOne(existing: Uint8Array | undefined, start: number, end: number, revision: number): boolean {
    const reply = this.#reply;
    const reader = this.#request;
    reply.beginAnswer();
    const refusal =
      reader.read(start, end) && reader.writes === 1
        ? this.#applier.apply(existing, reader, 0, revision, reply)
        : MALFORMED;
    if (refusal === undefined) reply.finishAnswer();
    else reply.refuse(refusal);
    return refusal === undefined;
  }
}

export const typescriptCodec: RecordCodec = new TypeScriptCodec();
