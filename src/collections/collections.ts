import type { Backend, Counted } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import { checkTime } from '../contract/check.js';
import { saturatingAdd } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { refuseUnknownOptions } from '../contract/options.js';
import { Binding, recordOf } from './binding.js';
import { isFactName } from './facts.js';
import { asFailure, mayPass } from './failure.js';
import {
  type Collection,
  type Integer,
  type Seconds,
  type Text,
  toInteger,
  toKey,
  toName,
  toNanoseconds,
  toPersistentSpace,
} from './input.js';
import { type CollectionsOptions, resolveSettings } from './options.js';
import { publish } from './publish.js';
import type { Settings } from './settings.js';
import { Transaction } from './transaction.js';

export interface BeginOptions {
  /**
   * When to give up, in nanoseconds since the epoch on the collections' clock: loads and flushes that would begin later reject
   * with `timeout`, and the engine is told to settle a commit by then. Default: never.
   */
  readonly deadline?: bigint | undefined;
}

export interface IncrementOptions {
  /** What is added; a negative number takes back. 0 too makes the counter, and begins its window. Default 1. */
  readonly by?: Integer | undefined;
  /**
   * Seconds from the first increment until the count begins anew; more than 0. The window stands: later increments do not
   * move its end. Default: the count never ends.
   */
  readonly window?: Seconds | undefined;
  /** The most that is not blocked; a negative one blocks every count from 0 on. Default: nothing is. */
  readonly limit?: Integer | undefined;
}

export interface Incremented {
  /** The count right after this increment: no other increment got the same. */
  readonly value: bigint;
  /** When the count begins anew, nanoseconds since the epoch; `undefined` = never. */
  readonly resetAt: bigint | undefined;
  /** `value` is more than the limit. */
  readonly blocked: boolean;
  /** The failure that the policy let pass; then nothing is known of earlier increments, and `value` is this one alone. */
  readonly failure: WafStateError | undefined;
}

/**
 * The collections IP, SESSION, USER, GLOBAL and RESOURCE of one application on one engine: what begins its transactions.
 * Holds no state of its own, so there may be several over one engine.
 */
export class Collections {
  readonly #settings: Settings;
  readonly #countsAtOnce: boolean;

  /** Throws `invalid_option`, `invalid_limit`, `abi_mismatch`, or `missing_feature`. Does no I/O. */
  constructor(options: CollectionsOptions) {
    this.#settings = resolveSettings(options);
    this.#countsAtOnce = this.#settings.commitsAtOnce && this.#settings.backend.countSync !== undefined;
  }

  /** The state of one request. Calls no backend. Throws `invalid_option`. */
  begin(options?: BeginOptions): Transaction {
    if (options === undefined) return new Transaction(this.#settings, undefined);
    refuseUnknownOptions('begin', options, ['deadline']);
    const { deadline } = options;
    if (deadline !== undefined) checkTime('deadline', deadline);
    return new Transaction(this.#settings, deadline);
  }

  /**
   * Adds to one counter and resolves to what it is then, in one commit and without a transaction: for limiters. Exact among all
   * who share the engine. Rejects with `invalid_key`, `invalid_mutation`, `invalid_option`, and with what the engine
   * rejects with unless the failure policy lets it pass.
   */
  async increment(
    collection: Collection,
    key: Text,
    name: Text,
    options: IncrementOptions = {},
  ): Promise<Incremented> {
    if (!isWellFormed(options)) refuseUnknownOptions('increment', options, INCREMENT_OPTIONS);
    const { limits, clock } = this.#settings;
    const space = toPersistentSpace(collection, 'increment');
    const bytes = toKey(key, limits, space);
    const variable = toName(name, limits);
    if (isFactName(variable)) {
      throw new WafStateError('invalid_mutation', `${variable} is a fact of the record and no counter`, {
        details: { option: variable },
      });
    }
    const delta = toInteger(options.by ?? 1, 'by');
    const limit = options.limit === undefined ? undefined : toInteger(options.limit, 'limit');
    const now = clock.now();
    const end = options.window === undefined ? undefined : saturatingAdd(now, toWindow(options.window));
    let value = delta;
    let resetAt: bigint | undefined;
    let failure: WafStateError | undefined;
    try {
      const counted = this.#countsAtOnce
        ? this.#countSync(space, bytes, variable, delta, end, now)
        : await this.#count(new Binding(space, bytes, this.#settings), variable, delta, end);
      // Not visible: its window was over before the commit came to it.
      if (counted !== undefined) value = counted.value;
      resetAt = counted === undefined ? end : counted.deadline;
    } catch (error) {
      failure = asFailure(error, this.#settings.backend.name);
      if (!this.#settings.failOpen || !mayPass(failure)) throw failure;
    }
    return { value, resetAt, blocked: limit !== undefined && value > limit, failure };
  }

  #countSync(
    space: number,
    key: ByteString,
    name: ByteString,
    delta: bigint,
    deadline: bigint | undefined,
    now: bigint,
  ): Counted | undefined {
    const { backend, limits, timeouts } = this.#settings;
    const record = recordOf(space, key, this.#settings);
    const count = { record, timeout: timeouts[space], name, delta, deadline };
    return (backend as Required<Backend>).countSync(count, { now, limits });
  }

  async #count(
    binding: Binding,
    name: ByteString,
    delta: bigint,
    deadline: bigint | undefined,
  ): Promise<Counted | undefined> {
    binding.log.push({ type: 'add', name, delta });
    if (deadline !== undefined) binding.log.push({ type: 'expire', name, deadline, onlyIfNone: true });
    const [result] = await publish([binding], this.#settings, undefined, true);
    const committed = result?.values.get(name);
    return committed && { value: BigInt(committed.value), deadline: committed.deadline };
  }
}

const INCREMENT_OPTIONS: readonly string[] = ['by', 'window', 'limit'];

/** What nearly every call has, told without a list of its options. */
function isWellFormed(options: IncrementOptions): boolean {
  if (typeof options !== 'object' || options === null) return false;
  for (const option in options) {
    if (option !== 'by' && option !== 'window' && option !== 'limit') return false;
  }
  return true;
}

function toWindow(seconds: Seconds): bigint {
  const window = toNanoseconds(seconds, 'window');
  if (window > 0n) return window;
  throw new WafStateError('invalid_mutation', 'window must be more than 0 seconds', {
    details: { option: 'window' },
  });
}
