import type { ByteString } from '../../contract/bytes.js';
import type { Variable } from '../../contract/snapshot.js';
import { Corruption } from '../corruption.js';
import type { Applied, RecordCodec, StoredRecord } from '../record.js';
import { corruptRecord } from '../refusal.js';
import { RequestReader } from '../request-reader.js';
import { NO_MUTATION, Status } from '../status.js';
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

  apply(existing: Uint8Array | undefined, request: Uint8Array, revision: number): Applied {
    const reply = this.#reply;
    const reader = this.#request;
    reader.open(request);
    reply.clear();
    reply.beginAnswer();
    const refusal =
      reader.read(0, request.byteLength) && reader.writes === 1
        ? this.#applier.apply(existing, reader, 0, revision, reply)
        : ({ status: Status.malformed, write: 0, mutation: NO_MUTATION, limit: 0, actual: 0 } as const);
    if (refusal !== undefined) {
      reply.refuse(refusal);
      return { record: undefined, answer: reply.copy() };
    }
    reply.finishAnswer();
    return { record: this.#applier.record, answer: reply.copy() };
  }
}

export const typescriptCodec: RecordCodec = new TypeScriptCodec();
