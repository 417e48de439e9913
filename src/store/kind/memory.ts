import { setImmediate as nextTurn } from 'node:timers/promises';
import { openMemory } from '../../backend/memory/memory.js';
import type { ByteString } from '../../contract/bytes.js';
import type { Clock } from '../../contract/clock.js';
import { countField, durationField } from '../config/field.js';
import { STORE_LIMITS } from '../entry.js';
import { KeyValue } from '../key-value.js';
import { Watchers } from '../watch.js';
import { DeadlineQueue } from './deadline-queue.js';
import { CLEANUP_RANGE, type OpenStore, type StoreKind, type SweptConfig } from './kind.js';
import { MemoryRoom } from './memory-room.js';

export interface MemoryStoreConfig extends SweptConfig {
  /** Entries at most. */
  readonly max_size: number;
}

/** As many records as the engine can have: `max_size` bounds the entries, and can change while the store runs. */
const MOST_RECORDS = 2 ** 24;
/** Bytes of all entries, as the engine estimates them: what an estimate of 1 KiB an entry would take, and 256 MiB at least. */
const LEAST_BYTES = 2 ** 28;
const BYTES_PER_ENTRY = 2 ** 10;

/** Expired entries that a sweep removes between two turns of the event loop. */
const SLICE = 128;

/** Entries in the memory of this process: an engine of its own for each store, gone when it is stopped. */
export const MEMORY: StoreKind<MemoryStoreConfig> = {
  role: 'store',
  kind: 'store.memory',
  fields: {
    max_size: countField(10_000, { least: 1, most: MOST_RECORDS }),
    cleanup_interval: durationField(300_000, CLEANUP_RANGE),
  },
  databases: undefined,
  fixed: [],
  open: async (config, clock) => new MemoryStore(config, clock),
};

const NAMESPACE = '' as ByteString;
const NONE: ReadonlySet<ByteString> = new Set();

class MemoryStore implements OpenStore<MemoryStoreConfig> {
  readonly keyValue: KeyValue;
  readonly watchers = new Watchers();
  readonly backend;
  readonly #clock: Clock;
  readonly #deadlines = new DeadlineQueue();
  readonly #room: MemoryRoom;
  #timer: NodeJS.Timeout;
  #sweeping: Promise<void> | undefined;

  constructor(config: MemoryStoreConfig, clock: Clock) {
    this.#clock = clock;
    this.backend = openMemory({
      clock,
      maxRecords: MOST_RECORDS,
      maxBytes: Math.max(LEAST_BYTES, config.max_size * BYTES_PER_ENTRY),
      onFull: 'refuse',
      cleanupInterval: 0,
    });
    this.#room = new MemoryRoom(this.backend, NAMESPACE, this.#deadlines, config.max_size);
    this.keyValue = new KeyValue({
      backend: this.backend,
      namespace: NAMESPACE,
      clock,
      room: this.#room,
      journal: {
        changed: (key, before, after) => {
          this.#deadlines.set(key, after?.deadline);
          this.watchers.tell(key, before, after);
        },
      },
    });
    this.#timer = this.#wait(config);
  }

  get maxSize(): number {
    return this.#room.maxSize;
  }

  reconfigure(config: MemoryStoreConfig): void {
    this.#room.maxSize = config.max_size;
    clearInterval(this.#timer);
    this.#timer = this.#wait(config);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
    this.watchers.end();
    await this.backend.close();
  }

  #wait({ cleanup_interval }: MemoryStoreConfig): NodeJS.Timeout {
    return setInterval(() => {
      this.#sweeping ??= this.#sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, cleanup_interval).unref();
  }

  /** Removes what has expired by now, in slices between which others run. */
  async #sweep(): Promise<void> {
    const now = this.#clock.now();
    for (;;) {
      const writes = this.#room.expired(now, SLICE, NONE);
      if (writes.length === 0) return;
      await this.backend.commit(writes, { now, limits: STORE_LIMITS });
      this.#room.forget(writes);
      await nextTurn();
    }
  }
}
