import { describe, expect, it } from 'vitest';
import { loadAddon, nativeStatus } from '../../src/record/addon.js';
import { NativeCodec, type RecordAddon } from '../../src/record/native-codec.js';
import { typescriptCodec } from '../../src/record/typescript/codec.js';
import { difference } from './differential.js';
import { CORPUS, corpusPairs } from './fuzz-input.js';

const addon = loadAddon<RecordAddon>();
if (addon === undefined) console.warn(`the corpus is not compared: ${nativeStatus().reason}`);

describe.skipIf(addon === undefined)('the inputs that fuzzing found', () => {
  it('are answered alike in C++ and in TypeScript', () => {
    const native = new NativeCodec(addon as RecordAddon);
    let pairs = 0;
    for (const { file, pair } of corpusPairs(CORPUS)) {
      expect([file, difference(native, typescriptCodec, pair)]).toEqual([file, undefined]);
      pairs++;
    }
    expect(pairs).toBeGreaterThan(200);
  });
});
