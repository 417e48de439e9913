import { readFileSync } from 'node:fs';
import { COLLECTION_SPACES, type CollectionName } from '../contract/space.js';
import { systemError } from '../contract/system-error.js';

/** A file that tests rules: requests, and what the rules are to make of them. */
export interface CaseFile {
  readonly name: string;
  readonly rules: readonly string[];
  readonly requests: readonly CaseRequest[];
  readonly loadError: boolean;
  readonly expect: readonly CaseExpectation[];
  readonly recordsAfter: readonly CaseRecord[];
}

export interface CaseRequest {
  readonly clientAddress: string;
  readonly method: string;
  readonly uri: string;
  readonly httpVersion: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
  readonly sleepMilliseconds: number;
  readonly response: { readonly status: number; readonly headers: readonly (readonly [string, string])[] };
}

export interface CaseExpectation {
  /** Index of the request. */
  readonly request: number;
  readonly matched: readonly number[];
  readonly notMatched: readonly number[];
  readonly status: number | undefined;
  readonly message: string | undefined;
}

export interface CaseRecord {
  readonly collection: CollectionName;
  readonly key: string | undefined;
  readonly variable: string;
  readonly value: string;
}

/** The file is none, or says something that this runner would have to guess at. */
export class CaseError extends Error {}

/** Throws `CaseError`, since what is not understood is never skipped, and what the system refuses. */
export function readCase(path: string): CaseFile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw systemError(error, `read the case ${path}`);
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new CaseError(error instanceof Error ? error.message : String(error));
  }
  const fields = new Fields(content, 'the case', [
    'name',
    'origin',
    'note',
    'rules',
    'requests',
    'expect',
    'load_error',
    'records_after',
  ]);
  const requests = fields.list('requests').map(readRequest);
  return {
    name: fields.text('name', path),
    rules: fields.list('rules').map((line) => textOf(line, 'a line of rules')),
    requests,
    loadError: fields.flag('load_error'),
    expect: fields.list('expect', []).map((entry, index) => readExpectation(entry, index, requests.length)),
    recordsAfter: fields.list('records_after', []).map(readRecord),
  };
}

function readRequest(value: unknown, index: number): CaseRequest {
  const fields = new Fields(value, `request ${index}`, [
    'client_ip',
    'method',
    'uri',
    'http_version',
    'headers',
    'body',
    'sleep_before_ms',
    'response',
  ]);
  const response = new Fields(fields.value('response', {}), `the response of request ${index}`, [
    'status',
    'headers',
    'body',
  ]);
  return {
    clientAddress: fields.text('client_ip', '127.0.0.1'),
    method: fields.text('method', 'GET'),
    uri: fields.text('uri'),
    httpVersion: fields.text('http_version', '1.1'),
    headers: fields.pairs('headers'),
    body: fields.value('body', undefined) === undefined ? undefined : fields.text('body'),
    sleepMilliseconds: fields.number('sleep_before_ms', 0),
    response: { status: response.number('status', 200), headers: response.pairs('headers') },
  };
}

function readExpectation(value: unknown, index: number, requests: number): CaseExpectation {
  const fields = new Fields(value, `expectation ${index}`, [
    'request',
    'matched_rule_ids',
    'not_matched_rule_ids',
    'status',
    'message_contains',
  ]);
  const request = fields.number('request');
  if (request >= requests)
    throw new CaseError(`expectation ${index} is about request ${request}, there are ${requests}`);
  const ids = (name: string) =>
    fields.list(name, []).map((id) => numberOf(id, `${name} of expectation ${index}`));
  return {
    request,
    matched: ids('matched_rule_ids'),
    notMatched: ids('not_matched_rule_ids'),
    status: fields.value('status', undefined) === undefined ? undefined : fields.number('status'),
    message:
      fields.value('message_contains', undefined) === undefined ? undefined : fields.text('message_contains'),
  };
}

function readRecord(value: unknown, index: number): CaseRecord {
  const fields = new Fields(value, `record ${index}`, ['namespace', 'key', 'variable', 'value']);
  const collection = fields.text('namespace');
  if (!Object.hasOwn(COLLECTION_SPACES, collection)) {
    throw new CaseError(
      `record ${index} has the namespace ${collection}; there are ${Object.keys(COLLECTION_SPACES).join(', ')}`,
    );
  }
  return {
    collection: collection as CollectionName,
    key: fields.value('key', undefined) === undefined ? undefined : fields.text('key'),
    variable: fields.text('variable'),
    value: fields.text('value'),
  };
}

/** The fields of one object, none of them unknown. */
class Fields {
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #what: string;

  constructor(value: unknown, what: string, known: readonly string[]) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new CaseError(`${what} is no object`);
    this.#object = value as Record<string, unknown>;
    this.#what = what;
    const unknown = Object.keys(value).find((name) => !known.includes(name));
    if (unknown !== undefined) {
      throw new CaseError(`${what} has the unknown field '${unknown}'; the fields are ${known.join(', ')}`);
    }
  }

  value(name: string, initial: unknown): unknown {
    return this.#object[name] ?? initial;
  }

  text(name: string, initial?: string): string {
    return textOf(this.value(name, initial), `${name} of ${this.#what}`);
  }

  number(name: string, initial?: number): number {
    return numberOf(this.value(name, initial), `${name} of ${this.#what}`);
  }

  flag(name: string): boolean {
    const value = this.value(name, false);
    if (typeof value === 'boolean') return value;
    throw new CaseError(`${name} of ${this.#what} is neither true nor false`);
  }

  list(name: string, initial?: readonly unknown[]): readonly unknown[] {
    const value = this.value(name, initial);
    if (Array.isArray(value)) return value;
    throw new CaseError(`${name} of ${this.#what} is no list`);
  }

  /** An object of texts. */
  pairs(name: string): [string, string][] {
    const value = this.value(name, {});
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new CaseError(`${name} of ${this.#what} is no object`);
    }
    return Object.entries(value).map(([key, text]) => [
      key,
      textOf(text, `${key} in ${name} of ${this.#what}`),
    ]);
  }
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new CaseError(`${what} is missing or no text`);
}

function numberOf(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new CaseError(`${what} is missing or no integer from 0`);
}
