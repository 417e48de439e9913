import type { ByteString } from '../contract/bytes.js';
import type { Mutation } from '../contract/mutation.js';

/** Mutations in one word each, for tests that read as the rule they check. Text must be bytes: code units up to 255. */

export function bytes(text: string): ByteString {
  return text as ByteString;
}

export function set(name: string, value: string): Mutation {
  return { type: 'set', name: bytes(name), value: bytes(value) };
}

export function remove(name: string): Mutation {
  return { type: 'remove', name: bytes(name) };
}

export function add(name: string, delta: bigint, saturates = false): Mutation {
  return { type: 'add', name: bytes(name), delta, saturates };
}

export function subtract(name: string, delta: bigint, saturates = false): Mutation {
  return { type: 'subtract', name: bytes(name), delta, saturates };
}

export function expire(name: string, deadline: bigint): Mutation {
  return { type: 'expire', name: bytes(name), deadline, onlyIfNone: false };
}

export function expireIfNone(name: string, deadline: bigint): Mutation {
  return { type: 'expire', name: bytes(name), deadline, onlyIfNone: true };
}

export function deprecate(name: string, amount: bigint, period: bigint, at: bigint): Mutation {
  return { type: 'deprecate', name: bytes(name), amount, period, at };
}

export function timeout(duration: bigint | undefined): Mutation {
  return { type: 'timeout', duration };
}

export function removeRecord(): Mutation {
  return { type: 'removeRecord' };
}
