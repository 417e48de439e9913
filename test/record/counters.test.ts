import { describe, expect, it } from 'vitest';
import type { RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { INT64_MAX } from '../../src/contract/clock.js';
import { DEFAULT_LIMITS } from '../../src/contract/limits.js';
import type { Mutation } from '../../src/contract/mutation.js';
import type { Variable } from '../../src/contract/snapshot.js';
import type { StoredRecord } from '../../src/record/record.js';
import { ReplyReader } from '../../src/record/reply.js';
import { CODECS } from './codecs.js';
import { type ModelRecord, modelApply, modelOf } from './model.js';
import { requestBytes } from './pairs.js';
import { Random } from './random.js';

/** Batches that count, on records of any number of variables: most of them are patched in place. */

const SEED = 31;
const NOW = 1_000_000_000_000n;
const NAME = { space: 1, applicationId: '' as ByteString, key: '10.0.0.1' as ByteString };

function variable(random: Random): Variable {
  const deadline = random.chance(0.3) ? NOW + BigInt(random.below(40)) : undefined;
  // Seldom, since one in a batch is enough for it to go the general way.
  if (random.chance(0.01)) return { value: undefined, deadline: NOW + 5n, clock: undefined };
  if (random.chance(0.02)) return { value: 'text' as ByteString, deadline, clock: 1n };
  const near = random.chance(0.02) ? INT64_MAX - 3n : BigInt(random.below(1000)) - 500n;
  return { value: String(near) as ByteString, deadline, clock: random.pick([1n, 2n]) };
}

function record(random: Random): StoredRecord {
  const names = Array.from({ length: 1 + random.below(90) }, (_, i) => `counter_${i}` as ByteString).sort();
  return {
    name: NAME,
    revision: 1,
    facts: { created: 1n, updated: 2n, updateCount: 3, timeout: undefined },
    variables: new Map(names.map((name) => [name, variable(random)])),
  };
}

function write(random: Random, names: readonly ByteString[]): RecordWrite {
  const mutations = Array.from({ length: random.below(100) }, (): Mutation => {
    const name = random.pick(names);
    if (random.chance(0.1)) {
      return {
        type: 'expire',
        name,
        deadline: NOW + BigInt(random.below(60)),
        onlyIfNone: random.chance(0.5),
      };
    }
    return { type: random.pick(['add', 'subtract']), name, delta: BigInt(random.below(9)) - 2n };
  });
  return { record: NAME, expect: 'any', mutations };
}

function sorted(model: ModelRecord): unknown {
  return { ...model, variables: [...model.variables].sort(([a], [b]) => (a < b ? -1 : 1)) };
}

describe.each(CODECS)('counters, %s', (_, codec) => {
  it('several requests in one call are what the model says of one after the other', () => {
    for (let round = 0; round < 150; round++) {
      const random = new Random(SEED + round * 7919);
      const stored = record(random);
      const names = [...stored.variables.keys()];
      const writes = Array.from({ length: 1 + random.below(5) }, () => write(random, names));
      const now = (index: number) => NOW + BigInt(10 * index);
      const requests = writes.map((each, index) => requestBytes([each], now(index), DEFAULT_LIMITS));

      const applied = codec.apply(codec.encode(stored), Buffer.concat(requests), 10);
      const reader = new ReplyReader(applied.answer);
      let model = modelOf(stored);
      let changed = false;
      for (const [index, each] of writes.entries()) {
        const expected = modelApply(model, each, now(index), DEFAULT_LIMITS, 10 + index);
        if (expected.error !== undefined) {
          expect(reader.nextRefusal(), `round ${round}`).toBeDefined();
          continue;
        }
        model = expected.record as ModelRecord;
        changed = true;
        const [result] = reader.next([each]) as Exclude<ReturnType<typeof reader.next>, Error>;
        expect([...(result?.values ?? [])], `round ${round}`).toEqual(expected.values);
      }
      expect(reader.done).toBe(true);
      if (!changed) expect(applied.record).toBeUndefined();
      else expect(sorted(modelOf(codec.decode(applied.record as Uint8Array)))).toEqual(sorted(model));
    }
  });

  it('goes on after a request that is none, and tells of it', () => {
    const good = requestBytes([write(new Random(1), ['counter_0' as ByteString])], NOW, DEFAULT_LIMITS);
    const bad = Buffer.from(good);
    bad[20] = 0; // no space
    const { answer, record: left } = codec.apply(undefined, Buffer.concat([good, bad, good]), 1);
    const reader = new ReplyReader(answer);
    const refusals = [0, 1, 2].map(() => {
      const refusal = reader.nextRefusal();
      if (refusal === undefined) reader.next([write(new Random(1), ['counter_0' as ByteString])]);
      return refusal !== undefined;
    });
    expect(refusals).toEqual([false, true, false]);
    expect(left).toBeDefined();
  });
});
