/** Collections: what a request knows of its client, its session, its user and the whole, between requests. */

export { Checkpoint } from './checkpoint.js';
export { type BeginOptions, Collections, type Incremented, type IncrementOptions } from './collections.js';
export { type CollectionFacts, FACT_NAMES, type FactName } from './facts.js';
export type { Flushed, FlushedCollection, FlushOptions } from './flush.js';
export type { Collection, Integer, Scope, Seconds, Text, Value } from './input.js';
export type { KeyDigestOptions } from './key-digest.js';
export type { CollectionsOptions } from './options.js';
export { Transaction } from './transaction.js';
