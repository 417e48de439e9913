import type { Backend } from '../../contract/backend.js';
import type { Clock } from '../../contract/clock.js';
import type { Fields } from '../config/field.js';
import type { KeyValue } from '../key-value.js';
import type { Watchers } from '../watch.js';

/**
 * A kind of store, such as `store.memory`. A new one is a file beside this and a line in kinds.ts: its fields, and how it is opened.
 */
export interface StoreKind<C extends object> {
  readonly role: 'store';
  readonly kind: string;
  readonly fields: Fields<C>;
  /** The kinds of entries that its field `database` may name; undefined: it has no such field. */
  readonly databases: readonly string[] | undefined;
  /** Fields that tell where the data is: they cannot change while the store runs. */
  readonly fixed: readonly string[];
  /** `database` is there exactly where `databases` is. */
  open(config: C, clock: Clock, database: Backend | undefined): Promise<OpenStore<C>>;
}

/** A store that runs. */
export interface OpenStore<C extends object> {
  readonly keyValue: KeyValue;
  /** Undefined: the engine cannot tell what others do. */
  readonly watchers: Watchers | undefined;
  readonly backend: Backend;
  readonly maxSize: number | undefined;
  /** Takes on another configuration, equal in the fixed fields, without a moment in which the store does not serve. */
  reconfigure(config: C): void;
  /** REQUIRES: no operation runs. */
  close(): Promise<void>;
}

/** A kind of engine that stores share, such as `engine.lmdb`. */
export interface EngineKind<C extends object> {
  readonly role: 'engine';
  readonly kind: string;
  readonly fields: Fields<C>;
  readonly fixed: readonly string[];
  /** `cleanupInterval`: milliseconds between two sweeps. */
  open(config: C, clock: Clock, cleanupInterval: number): Promise<Backend>;
}

/** What every kind of store has. */
export interface SweptConfig {
  /** Milliseconds. */
  readonly cleanup_interval: number;
}

/** Of `cleanup_interval`, in milliseconds. */
export const CLEANUP_RANGE = { least: 1, most: 86_400_000 };
