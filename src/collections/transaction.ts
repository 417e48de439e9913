import { type ByteString, decodeText, encodeText, toBytes } from '../contract/bytes.js';
import { saturatingAdd } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import { choiceOption, numberOption, refuseUnknownOptions } from '../contract/options.js';
import { COLLECTION_SPACES } from '../contract/space.js';
import { Bindings } from './bindings.js';
import { Checkpoint, type PublishedKeys } from './checkpoint.js';
import { type CollectionFacts, factText, isFactName } from './facts.js';
import type { Flushed, FlushOptions } from './flush.js';
import {
  type Collection,
  type Integer,
  type Scope,
  type Seconds,
  type Text,
  TX,
  toDuration,
  toInteger,
  toKey,
  toLocalName,
  toName,
  toNanoseconds,
  toPersistentSpace,
  toSpace,
  toValue,
  type Value,
} from './input.js';
import { LocalStore } from './local.js';
import type { Settings } from './settings.js';

const BYTES_RANGE = { initial: 0, least: 0, most: Number.MAX_SAFE_INTEGER, unit: 'bytes' };

/** What becomes of a sum beyond 64 bits. */
export type Beyond = 'refuse' | 'saturate';

const NO_KEYS: PublishedKeys = { session: undefined, user: undefined, resource: undefined };

/**
 * The state of one request: up to five collections, each bound to one record, the ordered log of what the request changes in
 * them, and TX, its own store. Reads see the request's own changes at once; others see them after a flush.
 *
 * Calls that take a collection also throw `invalid_option` for a word that is none, `not_initialized` where it is not bound,
 * and `closed` after `close()`; those that take a name, `invalid_mutation` for one that is empty, too long or no text.
 * Names compare without regard to ASCII case. Nothing but `bind` and `flush` and what is made of them calls the engine.
 */
export class Transaction {
  readonly #settings: Settings;
  readonly #bindings: Bindings;
  #local: LocalStore | undefined = undefined;
  #keys: PublishedKeys = NO_KEYS;
  #mark: Checkpoint | undefined = undefined;

  /** `Collections.begin` makes them. */
  constructor(settings: Settings, deadline: bigint | undefined) {
    this.#settings = settings;
    this.#bindings = new Bindings(settings, deadline);
  }

  // Bindings

  /**
   * Binds a collection to the record of `key`, by one load. The same key again does nothing, another is `already_bound`. Also
   * rejects with `invalid_key`, with `timeout` after the transaction's deadline, and with what the engine rejects with
   * unless the failure policy lets it pass: then the binding is empty, and its facts say `degraded`.
   */
  async bind(collection: Collection, key: Text): Promise<void> {
    await this.#bindings.bind(toPersistentSpace(collection, 'bind'), key);
  }

  /** The same at once. Throws `missing_feature` unless the engine has `synchronous_load`. */
  bindSync(collection: Collection, key: Text): void {
    this.#bindings.bindSync(toPersistentSpace(collection, 'bindSync'), key);
  }

  /** Makes `key` the SESSIONID, and binds the session collection to it, by the rules of `bind`. */
  async setSession(key: Text): Promise<void> {
    this.#publishKey('session', key);
    await this.bind('session', key);
  }

  setSessionSync(key: Text): void {
    this.#publishKey('session', key);
    this.bindSync('session', key);
  }

  /** Makes `key` the USERID, and binds the user collection to it. */
  async setUser(key: Text): Promise<void> {
    this.#publishKey('user', key);
    await this.bind('user', key);
  }

  setUserSync(key: Text): void {
    this.#publishKey('user', key);
    this.bindSync('user', key);
  }

  /** Makes `key` the RESOURCE, and binds the resource collection to it. */
  async setResource(key: Text): Promise<void> {
    this.#publishKey('resource', key);
    await this.bind('resource', key);
  }

  setResourceSync(key: Text): void {
    this.#publishKey('resource', key);
    this.bindSync('resource', key);
  }

  /** SESSIONID: the last key given to `setSession`, also where the session was bound to another before. */
  get sessionId(): string | undefined {
    return this.#keys.session;
  }

  /** USERID: the last key given to `setUser`. */
  get userId(): string | undefined {
    return this.#keys.user;
  }

  /** RESOURCE: the last key given to `setResource`. */
  get resource(): string | undefined {
    return this.#keys.resource;
  }

  /** The time that expiry, decay and deadlines go by, nanoseconds since the epoch. */
  now(): bigint {
    return this.#settings.clock.now();
  }

  isBound(collection: Collection): boolean {
    return this.#bindings.isReady(toPersistentSpace(collection, 'isBound'));
  }

  // Reads

  /** As text; a value that is not UTF-8 comes out with U+FFFD. `undefined` = absent, expired, or a deadline only. */
  get(scope: Scope, name: Text): string | undefined {
    const value = this.#read(scope, name);
    return value === undefined ? undefined : decodeText(value);
  }

  /** The exact bytes, the caller's to keep. */
  getBytes(scope: Scope, name: Text): Buffer | undefined {
    const value = this.#read(scope, name);
    return value === undefined ? undefined : toBytes(value);
  }

  has(scope: Scope, name: Text): boolean {
    return this.#read(scope, name) !== undefined;
  }

  /** Every visible variable, in byte order of the names. */
  list(scope: Scope): [name: string, value: string][] {
    const space = toSpace(scope);
    const entries =
      space === TX ? this.#store().entries() : this.#bindings.get(space).entries(this.#settings.clock.now());
    return entries.map(([name, value]) => [decodeText(name), decodeText(value)]);
  }

  /** How many variables `list` would give. */
  count(scope: Scope): number {
    const space = toSpace(scope);
    if (space === TX) return this.#store().size;
    return this.#bindings.get(space).count(this.#settings.clock.now());
  }

  /**
   * Whether the record, as this transaction sees it, stays within `limits.variables` and `limits.recordBytes` with a value of
   * `bytes` bytes in `name`. What others store meanwhile counts when the commit comes. Throws `invalid_option` for bytes that are no
   * integer from 0.
   */
  hasRoom(collection: Collection, name: Text, bytes: number): boolean {
    const { limits, clock } = this.#settings;
    const binding = this.#bindings.get(toPersistentSpace(collection, 'hasRoom'));
    numberOption('hasRoom', 'bytes', bytes, BYTES_RANGE);
    return binding.hasRoom(toName(name, limits), bytes, clock.now(), limits);
  }

  /** What is known of the record itself. `get` gives the same to rules, as KEY, IS_NEW, CREATE_TIME and so on. */
  facts(collection: Collection): CollectionFacts {
    return this.#bindings.get(toPersistentSpace(collection, 'facts')).facts(this.#settings.clock.now());
  }

  // Mutations

  /**
   * Creates the variable or replaces its value; an unexpired deadline stays. Setting TIMEOUT sets the record's sliding timeout in
   * seconds, 0 ends it; the other facts are read-only.
   */
  set(scope: Scope, name: Text, value: Value): void {
    const { limits } = this.#settings;
    const space = toSpace(scope);
    if (space === TX) {
      this.#store().set(toLocalName(name, limits), toValue(value, limits), this.#mark);
      return;
    }
    const binding = this.#bindings.get(space);
    const variable = toName(name, limits);
    if (isFactName(variable)) {
      refuseFact(variable);
      const duration = toDuration(value, 'TIMEOUT');
      this.#bindings.append(binding, { type: 'timeout', duration: duration === 0n ? undefined : duration });
    } else {
      this.#bindings.append(binding, { type: 'set', name: variable, value: toValue(value, limits) });
    }
  }

  /**
   * Adds to the variable's integer, 0 where it has none. A sum beyond 64 bits makes the flush fail with
   * `capacity_exceeded`, and in tx this call; with `saturate` it is held at the bound: for deltas that a client chooses.
   */
  add(scope: Scope, name: Text, delta: Integer, beyond: Beyond = 'refuse'): void {
    this.#sum('add', scope, name, delta, beyond);
  }

  subtract(scope: Scope, name: Text, delta: Integer, beyond: Beyond = 'refuse'): void {
    this.#sum('subtract', scope, name, delta, beyond);
  }

  /** Value, deadline and decay clock. Removing TIMEOUT ends the record's sliding timeout. */
  remove(scope: Scope, name: Text): void {
    const { limits } = this.#settings;
    const space = toSpace(scope);
    if (space === TX) {
      this.#store().remove(toLocalName(name, limits), this.#mark);
      return;
    }
    const binding = this.#bindings.get(space);
    const variable = toName(name, limits);
    if (isFactName(variable)) {
      refuseFact(variable);
      this.#bindings.append(binding, { type: 'timeout', duration: undefined });
    } else {
      this.#bindings.append(binding, { type: 'remove', name: variable });
    }
  }

  /** The variable is gone `seconds` from now, the time of this call. It need not exist yet; 0 hides it at once. */
  expire(collection: Collection, name: Text, seconds: Seconds): void {
    const binding = this.#bindings.get(toPersistentSpace(collection, 'expire'));
    const variable = this.#variable(name);
    const duration = toNanoseconds(seconds, 'seconds');
    const deadline = saturatingAdd(this.#settings.clock.now(), duration);
    this.#bindings.append(binding, { type: 'expire', name: variable, deadline, onlyIfNone: false });
  }

  /**
   * Lets a positive value decay by `amount` for every whole period since its own decay clock, never below zero. `amount` is at
   * least 1, the period more than 0.
   */
  deprecate(collection: Collection, name: Text, amount: Integer, periodSeconds: Seconds): void {
    const binding = this.#bindings.get(toPersistentSpace(collection, 'deprecate'));
    const variable = this.#variable(name);
    const step = toInteger(amount, 'amount');
    const period = toNanoseconds(periodSeconds, 'periodSeconds');
    if (step < 1n || period < 1n) {
      const option = step < 1n ? 'amount' : 'periodSeconds';
      throw new WafStateError(
        'invalid_mutation',
        `${option} of deprecate must be ${step < 1n ? 'at least 1' : 'more than 0'}`,
        { details: { option } },
      );
    }
    const at = this.#settings.clock.now();
    this.#bindings.append(binding, { type: 'deprecate', name: variable, amount: step, period, at });
  }

  /** Removes the record with all it holds; what follows begins a new one. */
  removeRecord(collection: Collection): void {
    const binding = this.#bindings.get(toPersistentSpace(collection, 'removeRecord'));
    this.#bindings.append(binding, { type: 'removeRecord' });
  }

  // Checkpoints

  /** A point to go back to. Cheap: one for every rule is meant. */
  checkpoint(): Checkpoint {
    this.#bindings.assertOpen();
    const { epoch, pending, mask } = this.#bindings;
    const mark = new Checkpoint(this, epoch, pending, mask, this.#keys);
    if (this.#mark !== undefined) this.#mark.next = mark;
    this.#mark = mark;
    return mark;
  }

  /**
   * Undoes every mutation, every change of TX and of the published keys, and every binding made since `mark`, and ends later
   * marks; `mark` itself stays good. Throws `unsupported` for a mark of another transaction, one that a rollback went behind,
   * and one from before the end of a flush that had something to send: what was sent is past undoing.
   */
  rollback(mark: Checkpoint): void {
    this.#bindings.assertOpen();
    if (
      !(mark instanceof Checkpoint) ||
      mark.owner !== this ||
      !mark.live ||
      mark.epoch !== this.#bindings.epoch
    ) {
      throw new WafStateError('unsupported', `the checkpoint ${whyUseless(mark, this)}; make another`);
    }
    this.#bindings.rollback(mark.pending, mark.mask);
    const previous = mark.rewind();
    this.#local?.restore(previous);
    this.#mark = mark;
    this.#keys = mark.keys;
  }

  // The end

  /** What a request does last: `flush()` with its defaults. */
  processLogging(): Promise<Flushed> {
    return this.#bindings.flush(true);
  }

  /**
   * Publishes what is pending, together where the engine has `multi_record_atomicity`, else each collection by itself. Resolves to
   * the new revision and the touched values of each. The transaction goes on, and may be flushed again.
   *
   * Rejects with what the engine rejects with, with `retry_limit_exceeded` after `limits.retryAttempts` more conflicts, or with `timeout`,
   * unless the failure policy lets it pass. A collection that was not stored keeps its log for the next flush; one that
   * was, or perhaps was, is never sent again. Where several were dirty, `error.details.collections` tells the fate of each.
   */
  async flush(options: FlushOptions = {}): Promise<Flushed> {
    refuseUnknownOptions('flush', options, ['onConflict']);
    const onConflict = choiceOption('flush', 'onConflict', options.onConflict, ['rebase', 'reject']);
    return this.#bindings.flush(onConflict === 'rebase');
  }

  /** The newest failure of the backend in this collection, whatever the policy made of it; without one, in any. */
  lastPersistentFailure(collection?: Collection): WafStateError | undefined {
    return this.#bindings.failure(
      collection === undefined ? undefined : toPersistentSpace(collection, 'lastPersistentFailure'),
    );
  }

  /** Ends the transaction. Never flushes and does no I/O; what is pending is dropped. A second close does nothing. */
  close(): void {
    this.#bindings.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  // Inside

  /** Before the binding, which an earlier one may refuse: rules read the last key given. */
  #publishKey(collection: keyof PublishedKeys, key: Text): void {
    this.#bindings.assertOpen();
    const bytes = toKey(key, this.#settings.limits, COLLECTION_SPACES[collection]);
    this.#keys = { ...this.#keys, [collection]: typeof key === 'string' ? key : decodeText(bytes) };
  }

  #read(scope: Scope, name: Text): ByteString | undefined {
    const { limits, clock } = this.#settings;
    const space = toSpace(scope);
    if (space === TX) return this.#store().get(toLocalName(name, limits));
    const binding = this.#bindings.get(space);
    const variable = toName(name, limits);
    if (!isFactName(variable)) return binding.value(variable, clock);
    const text = factText(binding.facts(clock.now()), variable);
    return text === undefined ? undefined : encodeText(text);
  }

  #store(): LocalStore {
    this.#bindings.assertOpen();
    this.#local ??= new LocalStore(this.#settings.limits);
    return this.#local;
  }

  #sum(type: 'add' | 'subtract', scope: Scope, name: Text, delta: Integer, beyond: Beyond): void {
    const space = toSpace(scope);
    const binding = space === TX ? undefined : this.#bindings.get(space);
    const amount = toInteger(delta, 'delta');
    const saturates = beyond === 'saturate';
    if (!saturates && beyond !== 'refuse') choiceOption(type, 'beyond', beyond, ['refuse', 'saturate']);
    if (binding === undefined) {
      const variable = toLocalName(name, this.#settings.limits);
      this.#store().add(variable, type === 'add' ? amount : -amount, saturates, this.#mark);
    } else {
      this.#bindings.append(binding, { type, name: this.#variable(name), delta: amount, saturates });
    }
  }

  #variable(name: Text): ByteString {
    const variable = toName(name, this.#settings.limits);
    if (isFactName(variable)) throw readOnly(variable);
    return variable;
  }
}

/** Of the facts, only TIMEOUT can be set and removed. */
function refuseFact(name: ByteString): void {
  if (name !== 'TIMEOUT') throw readOnly(name);
}

function readOnly(fact: ByteString): WafStateError {
  return new WafStateError(
    'invalid_mutation',
    fact === 'TIMEOUT'
      ? 'TIMEOUT is a fact of the record: it can be set and removed, nothing else'
      : `${fact} is a fact of the record and read-only; a variable of that name is written in lower case`,
    { details: { option: fact } },
  );
}

function whyUseless(mark: Checkpoint, transaction: Transaction): string {
  if (!(mark instanceof Checkpoint)) return 'is none';
  if (mark.owner !== transaction) return 'is of another transaction';
  return mark.live ? 'was made before a flush' : 'was ended by a rollback to an earlier one';
}
