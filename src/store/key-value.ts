import type { ScanPage } from '../contract/backend.js';
import { type ByteString, decodeText } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';
import { refuseUnknownOptions } from '../contract/options.js';
import { change, changeBlindly, type Ground, isBlind, type Step } from './change.js';
import {
  type Current,
  currentOf,
  ENTRIES,
  type Entry,
  entryOf,
  load,
  REMOVAL,
  recordOf,
  shownDeadline,
} from './entry.js';
import { invalid, MAX_PAGE, toKey, toKeyPart, toLimit, toVersion } from './input.js';
import {
  absent,
  blindIncrement,
  type Counter,
  counterOf,
  deleteStep,
  INCREMENT_OPTIONS,
  incrementStep,
  type Operation,
  type OperationResult,
  PUT_OPTIONS,
  type PutOptions,
  putStep,
  type SetOptions,
  type StoreIncrementOptions,
  stepOf,
  touchStep,
} from './steps.js';
import { decodeValue, type StoreValue } from './value.js';

export interface ListOptions {
  /** Keys that begin with this. */
  readonly prefix?: string | undefined;
  /** Keys after this one, which need not exist: the `cursor` of the page before. */
  readonly after?: string | undefined;
  /** Items at most. Default 100, and never more than 1000. */
  readonly limit?: number | undefined;
}

/** An entry in a list: without its value, which may be large. */
export interface ListItem {
  readonly key: string;
  readonly version: string;
  /** As in `Entry`. */
  readonly expiresAt: bigint | undefined;
}

export interface Page {
  /** In byte order of the keys. */
  readonly items: readonly ListItem[];
  /** The last key of the page: pass it as `after`. Empty where the page is. */
  readonly cursor: string;
  /** Whether anything follows. */
  readonly hasMore: boolean;
  /** Keys in the page whose records are damaged: `get` of one is `corrupt_data`, `delete` and `set` mend it. */
  readonly corrupt: readonly string[];
}

/** Steps of a batch, at most. */
export const MAX_BATCH = 1000;

/**
 * The operations of a store, over any engine of the contract. Knows nothing of ids, handles and permissions. What `Store` says of
 * each operation holds here.
 */
export class KeyValue {
  readonly #ground: Ground;
  readonly #blind: boolean;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#blind = isBlind(ground);
  }

  async get(key: unknown): Promise<StoreValue | undefined> {
    const current = await this.#look(toKey(key));
    return current && decodeValue(current.value);
  }

  async has(key: unknown): Promise<boolean> {
    return (await this.#look(toKey(key))) !== undefined;
  }

  async entry(key: unknown): Promise<Entry> {
    const bytes = toKey(key);
    const current = await this.#look(bytes);
    if (current === undefined) throw absent();
    return entryOf(bytes, current);
  }

  async ttl(key: unknown): Promise<number | undefined> {
    const now = this.#ground.clock.now();
    const current = await this.#look(toKey(key), now);
    if (current === undefined) return undefined;
    const deadline = shownDeadline(current.deadline);
    return deadline === undefined ? Number.POSITIVE_INFINITY : Number(deadline - now) / 1e9;
  }

  async set(key: unknown, value: unknown, options: SetOptions = {}): Promise<true> {
    refuseUnknownOptions('set', options, ['ttl']);
    return this.#put(
      putStep(toKey(key), value, options, () => true),
      true,
    );
  }

  async put(key: unknown, value: unknown, options: PutOptions = {}): Promise<Entry> {
    refuseUnknownOptions('put', options, PUT_OPTIONS);
    const bytes = toKey(key);
    const unconditional = options.onlyIfAbsent !== true && options.ifVersion === undefined;
    return this.#put(
      putStep(bytes, value, options, (put) => entryOf(bytes, put)),
      unconditional,
    );
  }

  async delete(key: unknown): Promise<boolean> {
    const bytes = toKey(key);
    try {
      return await this.#change(deleteStep(bytes));
    } catch (error) {
      if (!(error instanceof WafStateError && error.code === 'corrupt_data')) throw error;
      // What cannot be read can still be removed.
      await changeBlindly(this.#ground, bytes, [REMOVAL], this.#ground.clock.now());
      return true;
    }
  }

  async deleteIf(key: unknown, version: unknown): Promise<boolean> {
    return this.#change(deleteStep(toKey(key), toVersion(version)));
  }

  async increment(key: unknown, options: StoreIncrementOptions = {}): Promise<Counter> {
    refuseUnknownOptions('increment', options, INCREMENT_OPTIONS);
    const bytes = toKey(key);
    const step = incrementStep(bytes, options);
    if (!this.#blind) return this.#change(step);
    try {
      const now = this.#ground.clock.now();
      return counterOf(await changeBlindly(this.#ground, bytes, blindIncrement(options, now), now));
    } catch (error) {
      if (!(error instanceof WafStateError && error.code === 'capacity_exceeded')) throw error;
      // The guard, or a sum that is too large: a look tells which.
      return this.#change(step);
    }
  }

  async touch(key: unknown, ttl: unknown): Promise<boolean> {
    return this.#change(touchStep(toKey(key), ttl));
  }

  async batch(operations: readonly Operation[]): Promise<OperationResult[]> {
    if (!Array.isArray(operations) || operations.length > MAX_BATCH) {
      throw invalid(
        'operations',
        `a batch is an array of at most ${MAX_BATCH} operations, got ${Array.isArray(operations) ? operations.length : `a ${typeof operations}`}; split it`,
      );
    }
    const steps = operations.map(stepOf);
    if (new Set(steps.map(({ key }) => key)).size < steps.length) {
      throw invalid('operations', 'a key may stand only once in a batch; join what is done to it');
    }
    const { features, name } = this.#ground.backend;
    if (steps.length > 1 && !features.has('multi_record_atomicity')) {
      throw new WafStateError(
        'unsupported',
        `backend ${name} cannot change several keys as one; change one after the other`,
        { details: { option: 'multi_record_atomicity' } },
      );
    }
    return change<OperationResult>(this.#ground, steps);
  }

  async list(options: ListOptions = {}): Promise<Page> {
    refuseUnknownOptions('list', options, ['prefix', 'after', 'limit']);
    const prefix = toKeyPart('prefix', options.prefix);
    const limit = toLimit(options.limit);
    let after = toKeyPart('after', options.after);
    const now = this.#ground.clock.now();
    const items: { key: ByteString; current: Current | undefined }[] = [];
    // One more than is wanted, to know whether anything follows.
    while (items.length <= limit) {
      const page = await this.#scan(prefix, after, Math.min(limit + 1 - items.length, MAX_PAGE), now);
      for (const { record, snapshot } of page.entries) {
        const current = snapshot && currentOf(snapshot);
        if (current !== undefined || snapshot === undefined) items.push({ key: record.key, current });
      }
      if (page.next === undefined) break;
      after = page.next.key;
    }
    const shown = items.slice(0, limit);
    return {
      items: shown.flatMap(({ key, current }) => (current === undefined ? [] : [itemOf(key, current)])),
      cursor: decodeText(shown.at(-1)?.key ?? ('' as ByteString)),
      hasMore: items.length > limit,
      corrupt: shown.flatMap(({ key, current }) => (current === undefined ? [decodeText(key)] : [])),
    };
  }

  #scan(prefix: ByteString, after: ByteString, limit: number, now: bigint): Promise<ScanPage> {
    const { backend, namespace } = this.#ground;
    return backend.scan({
      now,
      space: ENTRIES,
      applicationId: namespace,
      ...(prefix !== '' && { prefix }),
      ...(after !== '' && { after: recordOf(namespace, after) }),
      limit,
    });
  }

  #look(key: ByteString, now = this.#ground.clock.now()): Current | undefined | Promise<Current | undefined> {
    const { backend, namespace } = this.#ground;
    const loading = load(backend, recordOf(namespace, key), now);
    return loading instanceof Promise ? loading.then(currentOf) : currentOf(loading);
  }

  async #put<T>(step: Step<T>, unconditional: boolean): Promise<T> {
    if (!unconditional || !this.#blind) return this.#change(step);
    const now = this.#ground.clock.now();
    const { mutations = [], result } = step.decide(undefined, now);
    return result(await changeBlindly(this.#ground, step.key, mutations, now));
  }

  async #change<T>(step: Step<T>): Promise<T> {
    const [result] = await change(this.#ground, [step]);
    return result as T;
  }
}

function itemOf(key: ByteString, { revision, deadline }: Current): ListItem {
  return { key: decodeText(key), version: String(revision), expiresAt: shownDeadline(deadline) };
}
