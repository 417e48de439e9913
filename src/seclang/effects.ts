import { createHash } from 'node:crypto';
import type { Transaction } from '../collections/index.js';
import type { ByteString } from '../contract/bytes.js';
import { saturatingAdd } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import type { CollectionName } from '../contract/space.js';
import { parseInteger } from '../contract/variable.js';
import type { Diagnostics } from './diagnostics.js';
import { type Expand, expand } from './macro.js';
import {
  type AddAction,
  type BindAction,
  type DeprecateAction,
  type ExpireAction,
  isFact,
  type RemoveAction,
  readSeconds,
  type SetAction,
  type StateAction,
  type StateScope,
} from './state-action.js';
import { readVariable, toText } from './variable-read.js';

/**
 * Carries compiled actions out on a transaction, in the order of the rule; what one does the next ones see. What a rule cannot know
 * before (a key that comes out empty, a full record) drops that action alone and is counted; what fails below, such as an
 * engine that is unavailable, is thrown, and the rule's effects are its caller's to roll back.
 */
export class Effects {
  readonly #transaction: Transaction;
  readonly #diagnostics: Diagnostics;
  /** The transaction takes no more mutations: a million matched values must not cost a refusal each. */
  #full = false;

  constructor(transaction: Transaction, diagnostics: Diagnostics) {
    this.#transaction = transaction;
    this.#diagnostics = diagnostics;
  }

  /** `first`: for the rule's first matched value. For each further one only its setvars run. */
  run(actions: readonly StateAction[], resolve: Expand, first: boolean): void {
    for (const action of actions) {
      switch (action.type) {
        case 'bind':
          if (first) this.#bind(action, resolve);
          break;
        case 'set':
        case 'add':
        case 'subtract':
        case 'remove':
          this.#change(action, resolve);
          break;
        case 'expire':
        case 'deprecate':
          if (first) this.#age(action, resolve);
          break;
      }
    }
  }

  /** A variable of tx alone, `undefined` removes it: for what a match captured. */
  setLocal(name: string, value: string | undefined): void {
    if (value === undefined) this.#transaction.remove('tx', name);
    else this.#withinLimits(() => this.#transaction.set('tx', name, toText(value)));
  }

  #bind({ collection, key }: BindAction, resolve: Expand): void {
    const bytes = expand(key, resolve);
    if (bytes === '') {
      this.#diagnostics.count('emptyKey');
      return;
    }
    try {
      this.#bindTo(collection, bytes);
    } catch (error) {
      if (!(error instanceof WafStateError)) throw error;
      if (error.code === 'already_bound') this.#diagnostics.count('alreadyBound');
      else if (error.code === 'invalid_key') this.#bindDigest(collection, bytes);
      else throw error;
    }
  }

  #bindDigest(collection: CollectionName, key: string): void {
    const digest = createHash('sha256').update(key, 'latin1').digest('hex');
    this.#diagnostics.count('digestedKey');
    try {
      this.#bindTo(collection, digest);
    } catch (error) {
      if (!(error instanceof WafStateError && error.code === 'already_bound')) throw error;
      this.#diagnostics.count('alreadyBound');
    }
  }

  #bindTo(collection: CollectionName, key: string): void {
    const text = toText(key);
    switch (collection) {
      case 'session':
        this.#transaction.setSessionSync(text);
        break;
      case 'user':
        this.#transaction.setUserSync(text);
        break;
      case 'resource':
        this.#transaction.setResourceSync(text);
        break;
      case 'ip':
      case 'global':
        this.#transaction.bindSync(collection, text);
        break;
    }
  }

  #change(action: SetAction | AddAction | RemoveAction, resolve: Expand): void {
    const { scope } = action;
    if (scope !== 'tx' && !this.#transaction.isBound(scope)) {
      this.#diagnostics.count('unboundCollection');
      return;
    }
    if (scope !== 'tx' && this.#full) {
      this.#diagnostics.count('droppedByLimit');
      return;
    }
    const name = expand(action.name, resolve);
    const fact = scope !== 'tx' && isFact(name);
    if (fact && !(name === 'TIMEOUT' && (action.type === 'set' || action.type === 'remove'))) {
      this.#diagnostics.count('factTarget');
      return;
    }
    if (action.type === 'remove') {
      this.#withinLimits(() => this.#transaction.remove(scope, toText(name)));
      return;
    }
    const value = expand(action.value, resolve);
    if (action.type === 'set' && fact) this.#setTimeout(scope as CollectionName, value);
    else if (action.type === 'set') this.#set(action, name, value);
    else this.#add(action, name, parseInteger(value as ByteString));
  }

  #setTimeout(collection: CollectionName, value: string): void {
    const seconds = readSeconds(value);
    if (seconds === undefined) this.#diagnostics.count('invalidNumber');
    else this.#withinLimits(() => this.#transaction.set(collection, 'TIMEOUT', value.trim()));
  }

  #set({ scope }: SetAction, name: string, value: string): void {
    this.#withinLimits(() => {
      const variable = toText(name);
      if (this.#hasRoom(scope, variable, value.length)) this.#transaction.set(scope, variable, toText(value));
    });
  }

  /** Blind, so that increments compose, and held at the bounds: a client that chooses the amount must not make the commit fail. */
  #add(action: AddAction, name: string, amount: bigint): void {
    const { scope, type } = action;
    this.#withinLimits(() => {
      const current = parseInteger(readVariable(this.#transaction, scope, name) as ByteString | undefined);
      const delta = type === 'add' ? amount : -amount;
      const sum = saturatingAdd(current, delta);
      if (sum !== current + delta) this.#diagnostics.count('saturated');
      const variable = toText(name);
      if (!this.#hasRoom(scope, variable, String(sum).length)) return;
      if (type === 'add') this.#transaction.add(scope, variable, amount, 'saturate');
      else this.#transaction.subtract(scope, variable, amount, 'saturate');
    });
  }

  #age(action: ExpireAction | DeprecateAction, resolve: Expand): void {
    const { scope } = action;
    if (!this.#transaction.isBound(scope)) {
      this.#diagnostics.count('unboundCollection');
      return;
    }
    const name = expand(action.name, resolve);
    if (isFact(name)) {
      this.#diagnostics.count('factTarget');
      return;
    }
    const seconds = readSeconds(expand(action.seconds, resolve));
    const amount = action.type === 'expire' ? 1n : parseInteger(expand(action.amount, resolve) as ByteString);
    if (seconds === undefined || amount < 1n || (action.type === 'deprecate' && seconds === 0)) {
      this.#diagnostics.count('invalidNumber');
      return;
    }
    this.#withinLimits(() => {
      const variable = toText(name);
      if (action.type === 'deprecate') this.#transaction.deprecate(scope, variable, amount, seconds);
      else if (this.#hasRoom(scope, variable, 0)) this.#transaction.expire(scope, variable, seconds);
    });
  }

  /** Counts the action as dropped where there is none. The store of tx looks for itself. */
  #hasRoom(scope: StateScope, name: string | Uint8Array, bytes: number): boolean {
    if (scope === 'tx' || this.#transaction.hasRoom(scope, name, bytes)) return true;
    this.#diagnostics.count('droppedByLimit');
    return false;
  }

  /** Drops the action that meets a limit, and that action alone. */
  #withinLimits(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof WafStateError && isLimit(error))) throw error;
      this.#diagnostics.count('droppedByLimit');
      if (error.details.option === 'mutations') this.#full = true;
    }
  }
}

function isLimit(error: WafStateError): boolean {
  if (error.code === 'capacity_exceeded') return true;
  const { option } = error.details;
  return error.code === 'invalid_mutation' && (option === 'nameBytes' || option === 'valueBytes');
}
