import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { xxh32 } from '../../src/record/typescript/xxh32.js';
import type { Pair } from './pairs.js';

/** The inputs that the fuzzer of native/core has kept: each reaches something that the others do not. */
export const CORPUS = new URL('../../native/test/corpus/', import.meta.url).pathname;

const CHECKSUM_BYTES = 4;

/**
 * What native/test/record_fuzz.cc makes of one input, split:u16 record[split] batch, with the record's checksum mended: the record with each request
 * of the batch. Where a size field is unsound, all that is left is one last request.
 */
export function* fuzzPairs(input: Buffer): Generator<Pair> {
  if (input.length < 2) return;
  const split = Math.min(input.readUInt16LE(0), input.length - 2);
  const record = Buffer.from(input.subarray(2, 2 + split));
  if (record.length >= CHECKSUM_BYTES) {
    const content = record.length - CHECKSUM_BYTES;
    record.writeUInt32LE(
      xxh32(new DataView(record.buffer, record.byteOffset, record.length), 0, content),
      content,
    );
  }
  const existing = record.length === 0 ? undefined : record;
  let rest = input.subarray(2 + split);
  while (rest.length > 0) {
    const size = rest.length >= 4 ? rest.readUInt32LE(0) : 0;
    const length = size >= 4 && size <= rest.length ? size : rest.length;
    yield { existing, request: rest.subarray(0, length), revision: 9 };
    rest = rest.subarray(length);
  }
}

export function* corpusPairs(directory: string): Generator<{ readonly file: string; readonly pair: Pair }> {
  for (const file of readdirSync(directory)) {
    for (const pair of fuzzPairs(readFileSync(join(directory, file)))) yield { file, pair };
  }
}
