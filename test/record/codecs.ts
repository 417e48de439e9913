import { loadAddon } from '../../src/record/addon.js';
import { NativeCodec, type RecordAddon } from '../../src/record/native-codec.js';
import type { RecordCodec } from '../../src/record/record.js';
import { typescriptCodec } from '../../src/record/typescript/codec.js';

const addon = loadAddon<RecordAddon>();

/** Every implementation that can run here, by name: what holds for one is tested on all. */
export const CODECS: readonly (readonly [string, RecordCodec])[] = [
  ['typescript', typescriptCodec],
  ...(addon === undefined ? [] : ([['native', new NativeCodec(addon)]] as const)),
];
