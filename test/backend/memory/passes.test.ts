import { describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/backend/memory/memory.js';
import type { ByteString } from '../../../src/contract/bytes.js';
import { SECOND } from '../../../src/contract/clock.js';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.js';
import type { Mutation } from '../../../src/contract/mutation.js';

function opened() {
  const memory = openMemory({ cleanupInterval: 0 });
  const write = (key: string, mutations: readonly Mutation[], timeout?: bigint) => {
    const record = { space: 1, applicationId: '' as ByteString, key: key as ByteString };
    return memory.commit([{ record, expect: 'any', timeout, mutations }], {
      now: 0n,
      limits: DEFAULT_LIMITS,
    });
  };
  return { memory, write };
}

const THREE = ['a', 'b', 'c'].map(
  (name): Mutation => ({ type: 'set', name: name as ByteString, value: '1' as ByteString }),
);

describe('a pass of cleanup', () => {
  it('comes to its end though records are made faster than it looks at them', async () => {
    const { memory, write } = opened();
    for (let i = 0; i < 10; i++) await write(`old${i}`, THREE);
    for (let calls = 1; ; calls++) {
      expect(calls).toBeLessThanOrEqual(11);
      const { wrapped } = await memory.cleanup(0n, { records: 1, variables: 100 });
      if (wrapped) break;
      for (let i = 0; i < 3; i++) await write(`new${calls}-${i}`, THREE);
    }
  });

  it('passes over a record that it put off and that is gone since', async () => {
    const { memory, write } = opened();
    await write('first', THREE, SECOND);
    await write('second', THREE, SECOND);
    const budget = { records: 10, variables: 3 };
    expect(await memory.cleanup(0n, budget)).toMatchObject({ recordsExamined: 1, wrapped: false });
    await write('second', [{ type: 'removeRecord' }]);
    expect(await memory.cleanup(SECOND, budget)).toEqual({
      recordsExamined: 0,
      recordsRemoved: 0,
      variablesRemoved: 0,
      wrapped: true,
    });
    expect(memory.stats().records).toBe(1);
    expect(await memory.cleanup(SECOND, budget)).toMatchObject({ recordsRemoved: 1 });
    expect(memory.stats()).toMatchObject({ records: 0, bytes: 0 });
  });
});
