import { describe, expect, it } from 'vitest';
import { loadAddon, nativeStatus } from '../../src/record/addon.js';
import { Corruption } from '../../src/record/corruption.js';
import { NativeCodec, type RecordAddon } from '../../src/record/native-codec.js';
import type { RecordCodec } from '../../src/record/record.js';
import { Status } from '../../src/record/status.js';
import { typescriptCodec } from '../../src/record/typescript/codec.js';
import { compare, coverage, describe as show } from './differential.js';

const PAIRS = 20_000;
const SEED = 7;

const addon = loadAddon<RecordAddon>();

describe('native and TypeScript', () => {
  it(`agree on ${PAIRS} generated pairs`, ({ skip }) => {
    if (addon === undefined) return skip(`the addon is not loaded: ${nativeStatus().reason}`);
    const seen = coverage();
    const found = compare(new NativeCodec(addon), typescriptCodec, SEED, 0, PAIRS, seen);
    if (found !== undefined) {
      throw new Error(`seed ${SEED}, pair ${found.index} differs in ${found.what}\n${show(found.pair)}`);
    }
    // What a record alone can answer has all been met, or the pairs are not worth comparing on.
    const { applied, conflict, malformed, overflow, tooManyVariables, recordTooLarge, corrupt } = Status;
    for (const status of [
      applied,
      conflict,
      malformed,
      overflow,
      tooManyVariables,
      recordTooLarge,
      corrupt,
    ]) {
      expect(seen.statuses.get(status), `status ${status}`).toBeGreaterThan(50);
    }
    const { otherName, ...reasons } = Corruption;
    for (const [name, reason] of Object.entries(reasons)) {
      expect(seen.corruptions.get(reason), `reason ${name}`).toBeGreaterThan(0);
    }
  });

  it('would be told apart: a codec that forgets one byte is found and its pair made small', () => {
    const wrong: RecordCodec = {
      implementation: 'typescript',
      check: (bytes) => typescriptCodec.check(bytes),
      decode: (bytes) => typescriptCodec.decode(bytes),
      encode: (record) => typescriptCodec.encode(record),
      apply(existing, request, revision) {
        const applied = typescriptCodec.apply(existing, request, revision);
        // Wrong for one name only.
        return Buffer.from(request).includes('dos_counter') ? { ...applied, record: undefined } : applied;
      },
    };
    const found = compare(typescriptCodec, wrong, SEED, 0, PAIRS, coverage());
    expect(found?.what).toMatch(/^records: /);
    expect(show(found?.pair as never)).toMatch(/^existing .*\nrequest {2}.*\nrevision \d+$/);
  });
});
