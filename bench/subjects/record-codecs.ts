import type { Bench } from 'tinybench';
import { type ByteString, DEFAULT_LIMITS, type Mutation } from 'wafstate';
import { loadAddon } from '#dist/record/addon.js';
import { NativeCodec, type RecordAddon } from '#dist/record/native-codec.js';
import type { RecordCodec } from '#dist/record/record.js';
import { RequestWriter } from '#dist/record/request.js';
import { typescriptCodec } from '#dist/record/typescript/codec.js';
import type { ApplyRequest, ApplySample, Subject } from '../subject.js';
import { importPeer, missingPeer } from './peers.js';

/**
 * Applying requests to a record's bytes, each result the next one's input, with nothing stored: native, TypeScript, and what
 * `JSON.parse` and `JSON.stringify` make of the same work, all in one process and in turn.
 *
 * A codec gets its requests as an engine does, many in one call: the native writer of LMDB crosses from JavaScript to C++ once
 * for a whole batch. Every request checks the record that the one before it left, and seals its own.
 */

/** Requests in a call, and operations between two looks at the clock, which takes a tenth of a microsecond itself. */
const REQUESTS = 64;
const NOW = 1_700_000_000_000_000_000n;
const KEY = '10.0.123.123' as ByteString;

function variableName(i: number): ByteString {
  return `variable_${i}` as ByteString;
}

function encodeRequest(mutations: readonly Mutation[]): Buffer {
  const writer = new RequestWriter();
  const record = { space: 1, applicationId: '' as ByteString, key: KEY };
  writer.append([{ record, expect: 'any', mutations }], NOW, DEFAULT_LIMITS);
  return Buffer.from(writer.bytes);
}

/** A record of counters, as one codec leaves it: the other gives the same bytes. */
function counters(variables: number): Uint8Array {
  const mutations: Mutation[] = Array.from({ length: variables }, (_, i) => ({
    type: 'set',
    name: variableName(i),
    value: String(1000 + i) as ByteString,
  }));
  const { record } = typescriptCodec.apply(undefined, encodeRequest(mutations), 1);
  if (record === undefined) throw new Error('a record of counters was refused');
  return record;
}

function additions({ variables, touched }: ApplyRequest): Mutation[] {
  return Array.from({ length: touched === 'all' ? variables : 1 }, (_, i) => ({
    type: 'add',
    name: variableName(touched === 'all' ? i : variables >> 1),
    delta: 1n,
  }));
}

function applier(codec: RecordCodec, request: ApplyRequest): () => void {
  const batch = Buffer.concat(Array.from({ length: REQUESTS }, () => encodeRequest(additions(request))));
  let record: Uint8Array | undefined = counters(request.variables);
  let revision = 1;
  return () => {
    record = codec.apply(record, batch, revision + 1).record;
    revision += REQUESTS;
    if (record === undefined) throw new Error(`the ${codec.implementation} codec refused a batch`);
  };
}

interface JsonRecord {
  revision: number;
  updated: number;
  updateCount: number;
  readonly variables: Record<string, { value: number }>;
}

/** What lmdb's encoding 'json' does around a change: bytes to text to objects and back. */
function jsonApplier(request: ApplyRequest): () => void {
  const names = additions(request).map((mutation) => (mutation as { name: string }).name);
  const variables = Object.fromEntries(
    Array.from({ length: request.variables }, (_, i) => [variableName(i), { value: 1000 + i }]),
  );
  const first: JsonRecord = { revision: 1, updated: 0, updateCount: 1, variables };
  let bytes = Buffer.from(JSON.stringify(first));
  return () => {
    for (let i = 0; i < REQUESTS; i++) {
      const record = JSON.parse(bytes.toString()) as JsonRecord;
      record.revision++;
      record.updateCount++;
      for (const name of names) {
        const variable = record.variables[name];
        if (variable !== undefined) variable.value++;
      }
      bytes = Buffer.from(JSON.stringify(record));
    }
  };
}

/** Encoding of requests into one growing buffer, as the group commit does on the main thread. */
function encoder(request: ApplyRequest): () => void {
  const writer = new RequestWriter();
  const mutations = additions(request);
  const record = { space: 1, applicationId: '' as ByteString, key: KEY };
  return () => {
    writer.clear();
    for (let i = 0; i < REQUESTS; i++) {
      writer.append([{ record, expect: 'any', mutations }], NOW, DEFAULT_LIMITS);
    }
  };
}

async function apply(request: ApplyRequest): Promise<ApplySample> {
  const { milliseconds } = request;
  const tinybench = await importPeer<{ Bench: typeof Bench }>('tinybench');
  const bench = new tinybench.Bench({
    time: milliseconds,
    warmupTime: milliseconds / 4,
    iterations: 1,
    throws: true,
  });
  const addon = loadAddon<RecordAddon>();
  if (addon !== undefined) bench.add('native', applier(new NativeCodec(addon), request));
  bench.add('typescript', applier(typescriptCodec, request));
  bench.add('json', jsonApplier(request));
  bench.add('encode', encoder(request));
  await bench.run();
  return Object.fromEntries(
    bench.tasks.map(({ name, result }) => {
      if (!('throughput' in result)) throw new Error(`tinybench gave no figure for ${name}: ${result.state}`);
      return [name, result.throughput.mean * REQUESTS];
    }),
  );
}

export const recordCodecs: Subject = {
  id: 'record-codecs',
  title: 'record codecs',
  role: 'wafstate',
  missing: () => missingPeer('tinybench'),
  open: async () => ({ operations: {}, apply, close: async () => undefined }),
};
