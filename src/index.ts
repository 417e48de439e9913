/** State of web application firewalls: collections, engines, and the contract between them. */

export type { LmdbBackend, LmdbStats } from './backend/lmdb/lmdb-backend.js';
export { openLmdb } from './backend/lmdb/open-lmdb.js';
export type { LmdbOptions } from './backend/lmdb/options.js';
export { type MemoryBackend, type MemoryStats, openMemory } from './backend/memory/memory.js';
export type { MemoryOptions } from './backend/memory/options.js';
export type { EvictionMessage, Evictions } from './backend/shared-memory/evictions.js';
export type { SharedMemoryOptions } from './backend/shared-memory/options.js';
export {
  openSharedMemory,
  type SharedMemoryBackend,
  type SharedMemoryStats,
} from './backend/shared-memory/shared-memory.js';
export {
  type BeginOptions,
  Checkpoint,
  type Collection,
  type CollectionFacts,
  Collections,
  type CollectionsOptions,
  type Flushed,
  type FlushedCollection,
  type FlushOptions,
  type Incremented,
  type IncrementOptions,
  type Integer,
  type KeyDigestOptions,
  type Scope,
  type Seconds,
  type Text,
  Transaction,
  type Value,
} from './collections/index.js';
export {
  ABI_VERSION,
  attach,
  type Backend,
  type CleanupBudget,
  type CleanupResult,
  type CommitOptions,
  type CommitResult,
  type CommittedValue,
  type Expectation,
  type RecordWrite,
  type ScanEntry,
  type ScanPage,
  type ScanQuery,
} from './contract/backend.js';
export { type ByteString, decodeText, encodeText, fromBytes, toBytes } from './contract/bytes.js';
export { type Clock, systemClock } from './contract/clock.js';
export {
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  type ErrorKind,
  type ErrorOptions,
  type Outcome,
  WafStateError,
} from './contract/errors.js';
export { FEATURES, type Feature } from './contract/features.js';
export { DEFAULT_LIMITS, type LimitName, type Limits, resolveLimits } from './contract/limits.js';
export type {
  AddMutation,
  DeprecateMutation,
  ExpireMutation,
  Mutation,
  RecordMutation,
  RemoveMutation,
  RemoveRecordMutation,
  SetMutation,
  SubtractMutation,
  TimeoutMutation,
  VariableMutation,
} from './contract/mutation.js';
export type { RecordFacts, Snapshot, Variable } from './contract/snapshot.js';
export { COLLECTION_SPACES, type CollectionName, type RecordName } from './contract/space.js';
export { type NativeStatus, nativeStatus } from './record/addon.js';
