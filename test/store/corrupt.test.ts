import { expect, test } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import type { Backend } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { WafStateError } from '../../src/contract/errors.js';
import { ENTRIES, STORE_LIMITS } from '../../src/store/entry.js';
import { KeyValue } from '../../src/store/key-value.js';
import { ManualClock } from '../collections/manual-clock.js';

const NAMESPACE = 'n' as ByteString;

/** The key-value operations over an engine that tells of a damaged record under `bad`, until that is removed. */
function damaged(clock: ManualClock): KeyValue {
  const memory = openMemory({ clock });
  let isDamaged = true;
  const corrupt = () => new WafStateError('corrupt_data', 'the checksum is wrong');
  const backend: Backend = {
    abiVersion: memory.abiVersion,
    name: 'damaged',
    features: new Set([...memory.features].filter((feature) => feature !== 'synchronous_load')),
    load: (record, ...rest) =>
      isDamaged && record.key === 'bad' ? Promise.reject(corrupt()) : memory.load(record, ...rest),
    commit: (writes, options) => {
      if (writes[0]?.record.key === 'bad' && writes[0].mutations[0]?.type === 'removeRecord')
        isDamaged = false;
      return memory.commit(writes, options);
    },
    scan: async (query) => {
      const page = await memory.scan(query);
      const record = { space: ENTRIES, applicationId: NAMESPACE, key: 'bad' as ByteString };
      return isDamaged ? { ...page, entries: [...page.entries, { record, error: corrupt() }] } : page;
    },
    cleanup: (...all) => memory.cleanup(...all),
    close: () => memory.close(),
  };
  return new KeyValue({ backend, namespace: NAMESPACE, clock, room: undefined, journal: undefined });
}

test('a damaged record hides no other, and is mended by delete or set', async () => {
  for (const mend of ['delete', 'set'] as const) {
    const keyValue = damaged(new ManualClock());
    await keyValue.set('a', 1);
    await expect(keyValue.get('bad')).rejects.toMatchObject({ code: 'corrupt_data' });
    expect(await keyValue.get('a')).toBe(1);
    expect(await keyValue.list()).toMatchObject({ items: [{ key: 'a' }], cursor: 'bad', corrupt: ['bad'] });
    expect(await keyValue[mend]('bad', 2)).toBe(true);
    expect(await keyValue.get('bad')).toBe(mend === 'set' ? 2 : undefined);
    expect((await keyValue.list()).corrupt).toEqual([]);
  }
});

test('what no store has written is corrupt where it is read, and can be counted, listed and deleted', async () => {
  const clock = new ManualClock();
  const backend = openMemory({ clock });
  const record = { space: ENTRIES, applicationId: NAMESPACE, key: 'k' as ByteString };
  const set = { type: 'set', name: 'v' as ByteString, value: 'foreign' as ByteString } as const;
  await backend.commit([{ record, expect: 'any', mutations: [set] }], {
    now: clock.now(),
    limits: STORE_LIMITS,
  });
  const keyValue = new KeyValue({
    backend,
    namespace: NAMESPACE,
    clock,
    room: undefined,
    journal: undefined,
  });
  await expect(keyValue.get('k')).rejects.toMatchObject({ code: 'corrupt_data' });
  expect((await keyValue.list()).items).toMatchObject([{ key: 'k' }]);
  expect(await keyValue.delete('k')).toBe(true);
  expect(await keyValue.has('k')).toBe(false);
});
