import { nativeStatus } from 'wafstate';

/** What the tests of the engine run against: both, or TypeScript alone where the addon is not loaded. */
export const IMPLEMENTATIONS: readonly ('native' | 'typescript')[] = nativeStatus().loaded
  ? ['native', 'typescript']
  : ['typescript'];

if (!nativeStatus().loaded) console.warn(`LMDB natively is not tested: ${nativeStatus().reason}`);
