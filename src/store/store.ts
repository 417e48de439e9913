import { WafStateError } from '../contract/errors.js';
import type { Entry } from './entry.js';
import { MAX_KEY_BYTES } from './input.js';
import type { KeyValue, ListOptions, Page } from './key-value.js';
import type { OpenStore, SweptConfig } from './kind/kind.js';
import { type Permissions, requirePermission, type StorePermission } from './permissions.js';
import type { StoreService } from './service.js';
import type {
  Counter,
  Operation,
  OperationResult,
  PutOptions,
  SetOptions,
  StoreIncrementOptions,
} from './steps.js';
import { MAX_VALUE_BYTES, type StoreValue } from './value.js';
import type { StoreEvent, WatchOptions } from './watch.js';

/** What a store is and can do. */
export interface StoreInfo {
  readonly id: string;
  /** `memory`, `lmdb`. */
  readonly backend: string;
  /** `linearizable`: everybody who reads sees every write that was acknowledged before. */
  readonly consistency: 'linearizable';
  /** Whether what was acknowledged survives the end of the process. */
  readonly durable: boolean;
  readonly list: boolean;
  /** Whether entries have versions. */
  readonly versioned: boolean;
  /** Whether `onlyIfAbsent` and `ifVersion` can be used. */
  readonly conditionalPut: boolean;
  readonly ttl: boolean;
  readonly watch: boolean;
  readonly limits: {
    /** Bytes of a key in UTF-8. */
    readonly keyBytes: number;
    /** Bytes of a value: of text its UTF-8, of what is neither text nor bytes nor an integer its JSON. */
    readonly valueBytes: number;
    /** Entries; undefined: only the space of the engine bounds them. */
    readonly maxSize: number | undefined;
  };
}

/**
 * A handle of one store: keys with values that may have a time to live. All handles of a store see the same; it goes on as they come and go.
 *
 * Every operation rejects with `closed` where the store does not run, with `not_initialized` after `release`, with `permission_denied`, with
 * `invalid_key` for a key that is empty, has a lone surrogate or more than 1024 bytes, and with what the engine rejects with. An
 * expired entry is absent for every operation from its deadline on, whenever it is swept.
 */
export class Store {
  readonly #service: StoreService;
  readonly #permissions: Permissions | undefined;
  readonly #actor: unknown;
  #released = false;

  /** For the registry: use `StoreRegistry.open`. */
  constructor(service: StoreService, permissions: Permissions | undefined, actor: unknown) {
    this.#service = service;
    this.#permissions = permissions;
    this.#actor = actor;
  }

  get id(): string {
    return this.#service.entry.id;
  }

  /** The value, or undefined where the key is absent. */
  get(key: string): Promise<StoreValue | undefined> {
    return this.#run('store.key.get', key, (keyValue) => keyValue.get(key));
  }

  has(key: string): Promise<boolean> {
    return this.#run('store.key.has', key, (keyValue) => keyValue.has(key));
  }

  /** The value with its version and deadline. Rejects with `not_found`. */
  entry(key: string): Promise<Entry> {
    return this.#run('store.key.get', key, (keyValue) => keyValue.entry(key));
  }

  /** Seconds that are left to the entry, Infinity where it has no deadline, undefined where there is none. */
  ttl(key: string): Promise<number | undefined> {
    return this.#run('store.key.get', key, (keyValue) => keyValue.ttl(key));
  }

  /**
   * Value and deadline, whatever was there before: without a `ttl` an earlier deadline is gone. Rejects with `invalid_mutation` for a
   * value that cannot be stored, `invalid_option` for a `ttl` that is none, and `store_full`.
   */
  set(key: string, value: StoreValue, options?: SetOptions): Promise<true> {
    return this.#run('store.key.set', key, (keyValue) => keyValue.set(key, value, options));
  }

  /** The same on a condition, and resolves to the entry. Also rejects with `already_exists`, `conflict` or `not_found`. */
  put(key: string, value: StoreValue, options?: PutOptions): Promise<Entry> {
    return this.#run('store.key.set', key, (keyValue) => keyValue.put(key, value, options));
  }

  /** Whether there was an entry to delete. */
  delete(key: string): Promise<boolean> {
    return this.#run('store.key.delete', key, (keyValue) => keyValue.delete(key));
  }

  /** Whether there was an entry of this version, which is deleted; an absent one or one of another version is no error. */
  deleteIf(key: string, version: string | number | bigint): Promise<boolean> {
    return this.#run('store.key.delete', key, (keyValue) => keyValue.deleteIf(key, version));
  }

  /**
   * Adds to an integer, which begins at 0, and resolves to what it is then. Exact: N increments from any number of callers, threads and
   * processes give N. Rejects with `invalid_mutation` where the value is no integer, and with `capacity_exceeded` beyond 64 bits.
   */
  increment(key: string, options?: StoreIncrementOptions): Promise<Counter> {
    return this.#run('store.key.set', key, (keyValue) => keyValue.increment(key, options));
  }

  /** Gives an entry another deadline, from now on; 0 takes it away. Whether there was an entry. */
  touch(key: string, ttl: number): Promise<boolean> {
    return this.#run('store.key.set', key, (keyValue) => keyValue.touch(key, ttl));
  }

  /**
   * Up to 1000 operations on as many keys, all of them or none, and what each would have resolved to, in order. Rejects with what the first one
   * that is refused would have rejected with.
   */
  async batch(operations: readonly Operation[]): Promise<OperationResult[]> {
    for (const operation of Array.isArray(operations) ? (operations as readonly Operation[]) : []) {
      await this.#allow(operation?.type === 'delete' ? 'store.key.delete' : 'store.key.set', operation?.key);
    }
    return this.#run(undefined, undefined, (keyValue) => keyValue.batch(operations));
  }

  /** Keys in byte order, a page at a time. */
  list(options?: ListOptions): Promise<Page> {
    return this.#run('store.key.list', options?.prefix, (keyValue) => keyValue.list(options));
  }

  /**
   * What changes from now on, in order. Ends with its signal, and when the store stops; rejects with `queue_full` where 1000 events wait for
   * whoever reads. That an entry has expired is no event. Needs `info().watch`, else `unsupported`. Asks for `store.key.list` and `store.key.get`.
   */
  async watch(options?: WatchOptions): Promise<AsyncIterableIterator<StoreEvent>> {
    await this.#allow('store.key.get', options?.prefix);
    return this.#run('store.key.list', options?.prefix, (_, { watchers, backend }) => {
      if (watchers !== undefined) return watchers.watch(options);
      throw new WafStateError(
        'unsupported',
        `backend ${backend.name} cannot tell what other processes change; list the store from time to time`,
        { details: { option: 'watch' } },
      );
    });
  }

  info(): Promise<StoreInfo> {
    return this.#run('store.info', undefined, (_, { backend, watchers, maxSize }) => ({
      id: this.id,
      backend: backend.name,
      consistency: 'linearizable' as const,
      durable: backend.features.has('durable_storage'),
      list: backend.features.has('ordered_scan'),
      versioned: true,
      conditionalPut: backend.features.has('optimistic_revisions'),
      ttl: backend.features.has('per_variable_expiry'),
      watch: watchers !== undefined,
      limits: { keyBytes: MAX_KEY_BYTES, valueBytes: MAX_VALUE_BYTES, maxSize },
    }));
  }

  /** Lets go of this handle; others and the data stay. Always true, as often as it is called. */
  release(): true {
    this.#released = true;
    return true;
  }

  toString(): string {
    return `Store(${this.id}${this.#released ? ', released' : ''})`;
  }

  async #run<T>(
    permission: StorePermission | undefined,
    key: string | undefined,
    work: (keyValue: KeyValue, store: OpenStore<SweptConfig>) => T | Promise<T>,
  ): Promise<T> {
    // Awaited only where there is something to wait for.
    const asking = this.#allow(permission, key);
    if (asking !== undefined) await asking;
    return this.#service.run((store) => work(store.keyValue, store));
  }

  #allow(permission: StorePermission | undefined, key: string | undefined): Promise<void> | undefined {
    if (this.#released) {
      throw new WafStateError(
        'not_initialized',
        `this handle of store '${this.id}' was released; open another`,
      );
    }
    if (permission === undefined) return undefined;
    return requirePermission(this.#permissions, { permission, store: this.id, key, actor: this.#actor });
  }
}
