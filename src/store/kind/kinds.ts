import type { EngineKind, StoreKind, SweptConfig } from './kind.js';
import { LMDB, LMDB_ENGINE } from './lmdb.js';
import { MEMORY } from './memory.js';

/** Every kind that an entry can have. */
export const KINDS: readonly (StoreKind<SweptConfig> | EngineKind<object>)[] = [MEMORY, LMDB, LMDB_ENGINE];
