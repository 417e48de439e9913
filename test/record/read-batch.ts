import type { RecordWrite } from '../../src/contract/backend.js';
import type { RecordName } from '../../src/contract/space.js';
import type { RecordLimits } from '../../src/record/apply.js';
import { decodeKey } from '../../src/record/key.js';
import { RequestReader } from '../../src/record/request-reader.js';

/** One commit as it was before it was written. */
export interface DecodedRequest {
  readonly writes: readonly RecordWrite[];
  readonly now: bigint;
  readonly limits: RecordLimits;
}

/** The requests of a batch, in order; `undefined` in the place of one that breaks the grammar. */
export function readBatch(batch: Uint8Array): (DecodedRequest | undefined)[] {
  const reader = new RequestReader();
  reader.open(batch);
  const requests: (DecodedRequest | undefined)[] = [];
  for (let start = 0; start < batch.byteLength; ) {
    const end = reader.endOf(start);
    requests.push(reader.read(start, end) ? decoded(reader) : undefined);
    start = end;
  }
  return requests;
}

function decoded(reader: RequestReader): DecodedRequest {
  const writes = Array.from({ length: reader.writes }, (_, index) => ({
    record: decodeKey(reader.key(index)) as RecordName,
    ...reader.operation(index),
  }));
  return { writes, now: reader.now, limits: reader.limits };
}
