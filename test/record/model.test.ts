import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../src/contract/bytes.js';
import { WafStateError } from '../../src/contract/errors.js';
import type { Variable } from '../../src/contract/snapshot.js';
import {
  applyWrite,
  committedValues,
  publish,
  type RecordView,
  variableSize,
} from '../../src/record/apply.js';
import type { StoredRecord } from '../../src/record/record.js';
import { ReplyReader } from '../../src/record/reply.js';
import { Status } from '../../src/record/status.js';
import { CODECS } from './codecs.js';
import { type ModelRecord, type ModelResult, modelApply, modelOf } from './model.js';
import { requestBytes, type SoundPair, soundPair } from './pairs.js';
import { Random } from './random.js';

const PAIRS = 4000;
const SEED = 11;

const ERRORS: Record<NonNullable<ModelResult['error']>, number> = {
  conflict: Status.conflict,
  overflow: Status.overflow,
  'too many variables': Status.tooManyVariables,
  'record too large': Status.recordTooLarge,
};

function pairs(check: (pair: SoundPair, expected: ModelResult, index: number) => void): void {
  for (let index = 0; index < PAIRS; index++) {
    const pair = soundPair(new Random(SEED + index * 7919));
    // The model has records, not keys: a write to another record is for the tests of corruption.
    const write = pair.stored === undefined ? pair.write : { ...pair.write, record: pair.stored.name };
    const stored = pair.stored === undefined ? undefined : modelOf(pair.stored);
    const expected = modelApply(stored, write, pair.now, pair.limits, pair.revision);
    try {
      check({ ...pair, write }, expected, index);
    } catch (error) {
      throw new Error(`seed ${SEED}, pair ${index}`, { cause: error });
    }
  }
}

function sorted(record: ModelRecord | undefined): unknown {
  if (record === undefined) return undefined;
  return { ...record, variables: [...record.variables].sort(([a], [b]) => (a < b ? -1 : 1)) };
}

describe.each(CODECS)('apply is what the model says, %s', (_, codec) => {
  it('record, result and refusal', () => {
    pairs((pair, expected) => {
      const existing = pair.stored === undefined ? undefined : codec.encode(pair.stored);
      const request = requestBytes([pair.write], pair.now, pair.limits);
      const applied = codec.apply(existing, request, pair.revision);
      const reader = new ReplyReader(applied.answer);
      if (expected.error !== undefined) {
        expect(applied.record).toBeUndefined();
        expect(reader.nextRefusal()?.status).toBe(ERRORS[expected.error]);
        return;
      }
      const results = reader.next([pair.write]);
      if (results instanceof WafStateError) throw results;
      expect(results[0]?.existed).toBe(expected.existed);
      expect(results[0]?.revision).toBe(expected.record === undefined ? 0 : pair.revision);
      expect([...(results[0]?.values ?? [])]).toEqual(expected.values);
      const record = applied.record === undefined ? undefined : modelOf(codec.decode(applied.record));
      expect(sorted(record)).toEqual(sorted(expected.record));
    });
  });
});

describe('applyWrite on structures', () => {
  it('plans what the model says, and leaves what it was given alone', () => {
    pairs((pair, expected) => {
      const view = pair.stored === undefined ? undefined : viewOf(pair.stored);
      const before = new Map(pair.stored?.variables);
      const outcome = applyWrite(view, pair.write, pair.now, pair.limits);
      expect(new Map(pair.stored?.variables)).toEqual(before);
      if (outcome.status !== Status.applied) {
        expect(outcome.status).toBe(ERRORS[expected.error as NonNullable<ModelResult['error']>]);
        return;
      }
      expect(expected.error).toBeUndefined();
      expect(outcome.existed).toBe(expected.existed);
      expect([...committedValues(outcome, pair.now)]).toEqual(expected.values);
      if (outcome.facts === undefined) {
        expect(expected.record).toBeUndefined();
        return;
      }
      publish(outcome, before, pair.now);
      expect(outcome.count).toBe(before.size);
      expect(outcome.size).toBe(sizeOf(before));
      const record = {
        name: pair.write.record,
        revision: pair.revision,
        facts: outcome.facts,
        variables: before,
      };
      expect(sorted(modelOf(record))).toEqual(sorted(expected.record));
    });
  });
});

function sizeOf(variables: ReadonlyMap<ByteString, Variable>): number {
  let size = 0;
  for (const [name, variable] of variables) size += variableSize(name, variable);
  return size;
}

function viewOf(record: StoredRecord): RecordView {
  return {
    revision: record.revision,
    facts: record.facts,
    count: record.variables.size,
    size: sizeOf(record.variables),
    get: (name) => record.variables.get(name),
    expired: (now) =>
      [...record.variables].filter(([, { deadline }]) => deadline !== undefined && deadline <= now),
  };
}
