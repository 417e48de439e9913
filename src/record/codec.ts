import { loadAddon } from './addon.js';
import { NativeCodec, type RecordAddon } from './native-codec.js';
import type { RecordCodec } from './record.js';
import { typescriptCodec } from './typescript/codec.js';

let chosen: RecordCodec | undefined;

/**
 * The codec of this thread: the one place that chooses between C++ and TypeScript. Both give the same bytes for every
 * input. Throws what `loadAddon` throws.
 */
export function recordCodec(): RecordCodec {
  if (chosen === undefined) {
    const addon = loadAddon<RecordAddon>();
    chosen = addon === undefined ? typescriptCodec : new NativeCodec(addon);
  }
  return chosen;
}
