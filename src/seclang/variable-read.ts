import type { Transaction } from '../collections/index.js';
import { type ByteString, encodeText, fromBytes, toBytes } from '../contract/bytes.js';
import { COLLECTION_SPACES, type CollectionName } from '../contract/space.js';
import type { Macro } from './macro.js';
import type { StateScope } from './state-action.js';

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** Bytes as the collections take them: as text where that is the same. */
export function toText(bytes: string): string | Uint8Array {
  return BEYOND_ASCII.test(bytes) ? toBytes(bytes as ByteString) : bytes;
}

/** The word as a scope, if it is one. */
export function scopeOf(word: string): StateScope | undefined {
  const name = word.toLowerCase();
  if (name === 'tx') return 'tx';
  return Object.hasOwn(COLLECTION_SPACES, name) ? (name as CollectionName) : undefined;
}

export function isReadable(transaction: Transaction, scope: StateScope): boolean {
  return scope === 'tx' || transaction.isBound(scope);
}

/** The exact bytes of a variable or fact; undefined where it is absent or its collection not bound. */
export function readVariable(transaction: Transaction, scope: StateScope, name: string): string | undefined {
  if (name === '' || !isReadable(transaction, scope)) return undefined;
  const key = toText(name);
  const text = transaction.get(scope, key);
  if (text === undefined || !BEYOND_ASCII.test(text)) return text;
  // Text may have been made from bytes that are no UTF-8.
  const bytes = transaction.getBytes(scope, key);
  return bytes === undefined ? undefined : fromBytes(bytes);
}

/** SESSIONID, USERID and RESOURCE: the last keys given. */
export function readPublishedKey(transaction: Transaction, variable: string): string | undefined {
  const key =
    variable === 'SESSIONID'
      ? transaction.sessionId
      : variable === 'USERID'
        ? transaction.userId
        : variable === 'RESOURCE'
          ? transaction.resource
          : undefined;
  return key === undefined ? undefined : encodeText(key);
}

/** Whether the transaction itself knows what the macro stands for. */
export function isOfTransaction({ variable, key }: Macro): boolean {
  if (key !== undefined) return scopeOf(variable) !== undefined;
  return variable === 'SESSIONID' || variable === 'USERID' || variable === 'RESOURCE';
}

/** REQUIRES: `isOfTransaction(macro)`. */
export function readMacro(transaction: Transaction, { variable, key }: Macro): string | undefined {
  return key === undefined
    ? readPublishedKey(transaction, variable)
    : readVariable(transaction, scopeOf(variable) as StateScope, key);
}
