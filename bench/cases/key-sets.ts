import type { KeySet } from '../load/keys.js';

/** Records of the LMDB cases. */
export const KEYS = 10_000;

export const uniform: KeySet = { kind: 'uniform', count: KEYS };
export const oneKey: KeySet = { kind: 'uniform', count: 1 };
