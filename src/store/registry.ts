import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { clockOption, refuseUnknownOptions } from '../contract/options.js';
import { type EngineEntry, type ResolvedEntry, resolveEntries, type StoreEntry } from './config/entries.js';
import { EngineService } from './engine-service.js';
import { invalid } from './input.js';
import { type Permissions, requirePermission } from './permissions.js';
import { StoreService } from './service.js';
import { Store } from './store.js';

export interface StoresOptions {
  /** Asked before every operation. Default: everything is allowed. */
  readonly permissions?: Permissions | undefined;
  /** What expires goes by it. Default: the system's. */
  readonly clock?: Clock | undefined;
}

export interface OpenOptions {
  /** Handed to the permissions, as the user of a request. */
  readonly actor?: unknown;
}

/** Where an engine has stores that ask for no sweep, never opened. */
const NO_STORES = 60_000;

/**
 * Reads a configuration, checks all of it, and starts the stores whose `lifecycle.auto_start` is true. `source` is YAML text, or an object of
 * the same form.
 *
 * Rejects with `invalid_option` before anything is started, where the message names the entry, the field and the way out, and with what opening
 * an engine rejects with; then what was started is stopped again.
 */
export async function loadStores(
  source: string | object,
  options: StoresOptions = {},
): Promise<StoreRegistry> {
  const registry = new StoreRegistry(options);
  try {
    await registry.reconfigure(source);
  } catch (error) {
    await registry.close();
    throw error;
  }
  return registry;
}

/** The stores of an application, by id: `namespace:name`, or the name alone where the configuration has no namespace. */
export class StoreRegistry {
  readonly #permissions: Permissions | undefined;
  readonly #clock: Clock;
  readonly #stores = new Map<string, StoreService>();
  readonly #engines = new Map<string, EngineService>();
  /** What starts, stops and reconfigures runs one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: StoresOptions) {
    refuseUnknownOptions('loadStores', options, ['permissions', 'clock']);
    const { permissions } = options;
    if (permissions !== undefined && typeof permissions !== 'function') {
      throw invalid(
        'permissions',
        'loadStores: permissions must be a function that returns true for what is allowed',
      );
    }
    this.#permissions = permissions;
    this.#clock = clockOption('loadStores', options.clock);
  }

  get ids(): string[] {
    return [...this.#stores.keys()];
  }

  /** Throws `invalid_option` or `not_found`. */
  isRunning(id: string): boolean {
    return this.#find(id).isRunning;
  }

  /**
   * A handle of a store, which need not run yet. Any number of them may be open at the same time: no store can be had exclusively. Rejects with
   * `invalid_option` for an empty id, `not_found`, or `permission_denied`.
   */
  async open(id: string, options: OpenOptions = {}): Promise<Store> {
    refuseUnknownOptions('open', options, ['actor']);
    const service = this.#find(id);
    const { actor } = options;
    await requirePermission(this.#permissions, { permission: 'store.get', store: id, key: undefined, actor });
    return new Store(service, this.#permissions, actor);
  }

  /** Does nothing where the store runs. Rejects with what opening its engine rejects with. */
  start(id: string): Promise<void> {
    return this.#inTurn(() => this.#start(this.#find(id)));
  }

  /**
   * Waits for the operations that run; later ones are `closed` until the store is started again. What a store in memory holds is gone then.
   * Does nothing where it does not run.
   */
  stop(id: string): Promise<void> {
    return this.#inTurn(() => this.#stop(this.#find(id)));
  }

  /**
   * Takes on another configuration as a whole. Stores that are in both go on with their data and their handles; while an engine is opened anew,
   * operations wait. Stores that are no longer there are stopped, new ones are started where `auto_start` says so.
   *
   * Rejects with `invalid_option` before anything is changed, also where a store that runs would get another place for its data: another
   * kind, database, namespace or path. Stop it first.
   */
  reconfigure(source: string | object): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#closed) throw new WafStateError('closed', 'the stores are closed; load them again');
      const entries = resolveEntries(source);
      for (const entry of entries.values()) this.#requireSamePlace(entry);
      await this.#apply(entries);
    });
  }

  /** Stops all stores, also where one of them cannot be stopped: then it rejects with the first such failure. */
  close(): Promise<void> {
    return this.#inTurn(async () => {
      this.#closed = true;
      const failures: unknown[] = [];
      for (const service of this.#stores.values()) {
        await this.#stop(service).catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    // Whoever comes next waits for it, and does not care how it ended.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #find(id: unknown): StoreService {
    if (typeof id !== 'string' || id === '')
      throw invalid('id', 'the id of a store must be text that is not empty');
    const service = this.#stores.get(id);
    if (service !== undefined) return service;
    throw new WafStateError('not_found', `there is no such store; the stores are ${this.ids.join(', ')}`);
  }

  async #start(service: StoreService): Promise<void> {
    if (this.#closed) throw new WafStateError('closed', 'the stores are closed; load them again');
    if (service.isRunning) return;
    const engine = this.#engineOf(service.entry);
    const backend = await engine?.acquire();
    try {
      await service.start(backend);
    } catch (error) {
      await engine?.release();
      throw error;
    }
  }

  async #stop(service: StoreService): Promise<void> {
    if (!service.isRunning) return;
    await service.stop();
    await this.#engineOf(service.entry)?.release();
  }

  #engineOf({ database }: StoreEntry): EngineService | undefined {
    return database === undefined ? undefined : this.#engines.get(database);
  }

  #requireSamePlace(next: ResolvedEntry): void {
    const service = next.role === 'store' ? this.#stores.get(next.id) : this.#engines.get(next.id);
    if (service?.isRunning !== true) return;
    const { entry } = service;
    const old = entry.config as Record<string, unknown>;
    const field =
      entry.kind.kind === next.kind.kind
        ? next.kind.fixed.find((name) => old[name] !== (next.config as Record<string, unknown>)[name])
        : 'kind';
    if (field === undefined) return;
    throw invalid(
      field,
      `entry '${next.id}': ${field}: cannot change while ${next.role === 'store' ? 'the store runs' : 'a store of this engine runs'}, since its data would be left behind; stop it first, or add another entry`,
    );
  }

  async #apply(entries: ReadonlyMap<string, ResolvedEntry>): Promise<void> {
    const stores = [...entries.values()].filter((entry) => entry.role === 'store');
    const engines = [...entries.values()].filter((entry) => entry.role === 'engine');
    for (const [id, service] of this.#stores) {
      if (entries.get(id)?.role === 'store') continue;
      await this.#stop(service);
      await service.remove();
      this.#stores.delete(id);
    }
    for (const entry of engines) await this.#applyEngine(entry, stores);
    for (const id of this.#engines.keys()) {
      if (entries.get(id)?.role !== 'engine') this.#engines.delete(id);
    }
    for (const entry of stores) {
      const service = this.#stores.get(entry.id);
      if (service !== undefined) service.reconfigure(entry);
      else this.#stores.set(entry.id, new StoreService(entry, this.#clock));
      if (service === undefined && entry.autoStart) await this.#start(this.#find(entry.id));
    }
  }

  async #applyEngine(entry: EngineEntry, stores: readonly StoreEntry[]): Promise<void> {
    const intervals = stores
      .filter(({ database }) => database === entry.id)
      .map(({ config }) => config.cleanup_interval);
    const cleanupInterval = intervals.length === 0 ? NO_STORES : Math.min(...intervals);
    const engine = this.#engines.get(entry.id);
    if (engine === undefined) {
      this.#engines.set(entry.id, new EngineService(entry, cleanupInterval, this.#clock));
      return;
    }
    const same =
      engine.cleanupInterval === cleanupInterval && isDeepStrictEqual(engine.entry.config, entry.config);
    if (same) return;
    const before = { entry: engine.entry, cleanupInterval: engine.cleanupInterval };
    await this.#reopen(entry.id, engine, { entry, cleanupInterval }, before);
  }

  /** Closes the engine and opens it with other settings, between two operations of its stores. */
  async #reopen(
    id: string,
    engine: EngineService,
    next: Pick<EngineService, 'entry' | 'cleanupInterval'>,
    before: Pick<EngineService, 'entry' | 'cleanupInterval'>,
  ): Promise<void> {
    const services = [...this.#stores.values()].filter(
      (service) => service.entry.database === id && service.isRunning,
    );
    await Promise.all(services.map((service) => service.pause()));
    try {
      for (const _ of services) await engine.release();
      Object.assign(engine, next);
      await this.#startAll(services, engine);
    } catch (error) {
      Object.assign(engine, before);
      await this.#startAll(services, engine).catch((again: unknown) => {
        throw new WafStateError(
          'unavailable',
          `entry '${id}' can be opened neither anew nor as it was, and its stores have stopped; see both causes, then start them`,
          { cause: new AggregateError([error, again]) },
        );
      });
      throw error;
    } finally {
      for (const service of services) service.resume();
    }
  }

  async #startAll(services: readonly StoreService[], engine: EngineService): Promise<void> {
    for (const service of services) await service.start(await engine.acquire());
  }
}
