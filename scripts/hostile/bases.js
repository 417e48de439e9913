// Sound environments to damage: small, since thousands of copies are made, and each with something of its own.
import { DEFAULT_LIMITS, openLmdb } from 'wafstate';

const NOW = 1_700_000_000_000_000_000n;
const OPTIONS = { limits: DEFAULT_LIMITS, now: NOW };

function set(key, value, timeout) {
  return {
    record: { space: 1, applicationId: '', key },
    expect: 'any',
    ...(timeout !== undefined && { timeout }),
    mutations: [{ type: 'set', name: 'value', value }],
  };
}

async function inBatches(backend, writes, size) {
  for (let at = 0; at < writes.length; at += size)
    await Promise.all(writes.slice(at, at + size).map((write) => backend.commit([write], OPTIONS)));
}

const remove = (key) => ({
  record: { space: 1, applicationId: '', key },
  expect: 'any',
  mutations: [{ type: 'removeRecord' }],
});

/** By name: what each holds. */
const CONTENTS = {
  'one record': [set('only', 'value')],
  // Values on overflow pages, and lists of free pages from removals.
  'large values': [
    ...Array.from({ length: 40 }, (_, i) => set(`key ${i}`, 'v'.repeat(200 + 700 * (i % 11)))),
    ...Array.from({ length: 12 }, (_, i) => remove(`key ${3 * i}`)),
    ...Array.from({ length: 10 }, (_, i) => set(`later ${i}`, 'w'.repeat(3000), 3_600_000_000_000n)),
  ],
  // Keys of a thousand bytes: four to a branch page, so the tree is deep.
  'deep tree': [
    ...Array.from({ length: 90 }, (_, i) => set(`${'k'.repeat(980)} ${(i * 37) % 1000}`, String(i))),
    ...Array.from({ length: 15 }, (_, i) => remove(`${'k'.repeat(980)} ${(i * 37) % 1000}`)),
  ],
};

/** Makes one below each directory that `at(name)` names, and resolves to the names. */
export async function makeBases(implementation, at) {
  for (const [name, writes] of Object.entries(CONTENTS)) {
    const backend = await openLmdb({ path: at(name), implementation, cleanupInterval: 0, mapSize: 2 ** 24 });
    await inBatches(backend, writes, 9);
    await backend.close();
  }
  return Object.keys(CONTENTS);
}
