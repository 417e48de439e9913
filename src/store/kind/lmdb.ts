import { openLmdb } from '../../backend/lmdb/open-lmdb.js';
import type { Backend } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import { encodeText } from '../../contract/bytes.js';
import type { Clock } from '../../contract/clock.js';
import {
  choiceField,
  countField,
  durationField,
  NAMESPACE_FIELD,
  REFERENCE_FIELD,
  textField,
} from '../config/field.js';
import { KeyValue } from '../key-value.js';
import { CLEANUP_RANGE, type EngineKind, type OpenStore, type StoreKind, type SweptConfig } from './kind.js';
import { NamespaceRoom } from './namespace-room.js';

export interface LmdbEngineConfig {
  /** Its directory, whose parent must exist. */
  readonly path: string;
  /** Bytes that it may grow to. */
  readonly map_size: number;
  readonly durability: 'durable' | 'relaxed';
}

/** An LMDB environment that stores share, among them those of other processes. Open as long as one of its stores runs. */
export const LMDB_ENGINE: EngineKind<LmdbEngineConfig> = {
  role: 'engine',
  kind: 'engine.lmdb',
  fields: {
    path: textField(/^[^\0]+$/, 'the name of a directory'),
    map_size: countField(2 ** 30, { least: 2 ** 20, most: 2 ** 44 }),
    durability: choiceField(['durable', 'relaxed']),
  },
  fixed: ['path', 'durability'],
  open: (config, clock, cleanupInterval) =>
    openLmdb({
      path: config.path,
      mapSize: config.map_size,
      durability: config.durability,
      cleanupInterval: cleanupInterval / 1000,
      clock,
    }),
};

export interface LmdbStoreConfig extends SweptConfig {
  readonly database: string;
  readonly namespace: string;
  /** Undefined: the map's size is the bound. */
  readonly max_size: number | undefined;
}

/** Entries of one namespace of an LMDB environment. */
export const LMDB: StoreKind<LmdbStoreConfig> = {
  role: 'store',
  kind: 'store.lmdb',
  fields: {
    database: REFERENCE_FIELD,
    namespace: NAMESPACE_FIELD,
    max_size: countField(undefined, { least: 1, most: 2 ** 31 }),
    cleanup_interval: durationField(60_000, CLEANUP_RANGE),
  },
  databases: [LMDB_ENGINE.kind],
  fixed: ['database', 'namespace'],
  open: async (config, clock, database) => new LmdbStore(config, clock, database as Backend),
};

class LmdbStore implements OpenStore<LmdbStoreConfig> {
  readonly watchers = undefined;
  readonly backend: Backend;
  readonly #clock: Clock;
  readonly #namespace: ByteString;
  keyValue: KeyValue;
  maxSize: number | undefined;

  constructor(config: LmdbStoreConfig, clock: Clock, backend: Backend) {
    this.backend = backend;
    this.#clock = clock;
    this.#namespace = encodeText(config.namespace) as ByteString;
    this.maxSize = config.max_size;
    this.keyValue = this.#keyValue();
  }

  reconfigure(config: LmdbStoreConfig): void {
    if (config.max_size === this.maxSize) return;
    this.maxSize = config.max_size;
    this.keyValue = this.#keyValue();
  }

  async close(): Promise<void> {
    // The engine is the registry's, which closes it with its last store.
  }

  #keyValue(): KeyValue {
    const { maxSize } = this;
    return new KeyValue({
      backend: this.backend,
      namespace: this.#namespace,
      clock: this.#clock,
      room: maxSize === undefined ? undefined : new NamespaceRoom(this.backend, this.#namespace, maxSize),
      journal: undefined,
    });
  }
}
