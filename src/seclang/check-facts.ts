import type { Transaction } from '../collections/index.js';
import { WafStateError } from '../contract/errors.js';
import { refuseUnknownOptions } from '../contract/options.js';
import type { RequestFacts, ResponseFacts } from './request.js';
import type { Phase } from './rule.js';

/**
 * What a server tells of a request. A fact that is misspelt or missing would leave rules without anything to match, and they would
 * let everything through: it is `invalid_option`. Values are never named: they are a client's.
 */

const TEXTS = ['clientAddress', 'method', 'uri', 'httpVersion'] as const;
const OPTIONAL_TEXTS = ['serverAddress', 'uniqueId'] as const;
const PORTS = ['clientPort', 'serverPort'] as const;
const FACTS = [...TEXTS, ...OPTIONAL_TEXTS, ...PORTS, 'headers'];

export function checkRequest(facts: RequestFacts): void {
  refuseUnknownOptions('begin', facts, FACTS);
  for (const name of TEXTS) if (typeof facts[name] !== 'string') throw wrong('begin', name, 'text');
  for (const name of OPTIONAL_TEXTS) {
    if (facts[name] !== undefined && typeof facts[name] !== 'string') throw wrong('begin', name, 'text');
  }
  for (const name of PORTS) {
    if (facts[name] !== undefined && !Number.isInteger(facts[name])) throw wrong('begin', name, 'an integer');
  }
  checkHeaders('begin', facts.headers);
}

export function checkResponse(response: ResponseFacts): void {
  refuseUnknownOptions('setResponse', response, ['status', 'headers']);
  if (!Number.isInteger(response.status)) throw wrong('setResponse', 'status', 'an integer');
  checkHeaders('setResponse', response.headers);
}

export function checkBody(body: Uint8Array): void {
  if (!(body instanceof Uint8Array)) throw wrong('setBody', 'body', 'bytes, a Uint8Array or Buffer');
}

/** Not `instanceof`: the transaction may be of the package's other module format. */
export function checkTransaction(owner: string, transaction: Transaction): void {
  if (typeof transaction?.checkpoint !== 'function') {
    throw wrong(owner, 'transaction', 'what Collections.begin() gave');
  }
}

/** REQUIRES: `last` is the phase run before, 0 for none. */
export function checkPhase(phase: Phase, last: number): void {
  if (![1, 2, 3, 4, 5].includes(phase)) throw wrong('run', 'phase', '1, 2, 3, 4 or 5');
  if (phase > last) return;
  throw new WafStateError('unsupported', `run: phase ${phase} cannot follow phase ${last}; begin anew`);
}

function checkHeaders(owner: string, headers: unknown): void {
  if (Array.isArray(headers) && headers.every(isPair)) return;
  throw wrong(
    owner,
    'headers',
    'an array of [name, value] pairs of text; node:http has them one after the other in rawHeaders',
  );
}

function isPair(pair: unknown): boolean {
  return Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string';
}

function wrong(owner: string, name: string, kind: string): WafStateError {
  return new WafStateError('invalid_option', `${owner}: ${name} must be ${kind}`, {
    details: { option: name },
  });
}
