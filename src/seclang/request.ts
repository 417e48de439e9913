import { type ByteString, encodeText, fromBytes } from '../contract/bytes.js';
import { percentDecode } from './transformation/percent.js';

/**
 * What a server knows of a request. Strings are as node:http gives them, one character a byte; text with a
 * character beyond U+00FF is taken as its UTF-8.
 */
export interface RequestFacts {
  /** The client's address, after whatever proxies are trusted: REMOTE_ADDR. */
  readonly clientAddress: string;
  readonly clientPort?: number | undefined;
  readonly serverAddress?: string | undefined;
  readonly serverPort?: number | undefined;
  readonly method: string;
  /** The request target as sent: `/path?query`, or with scheme and host before it. */
  readonly uri: string;
  /** `1.1`. */
  readonly httpVersion: string;
  /** In the order sent, names in any case, repeated ones repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** UNIQUE_ID. Default: none. */
  readonly uniqueId?: string | undefined;
}

export interface ResponseFacts {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Name and value, as bytes. */
export type Pair = readonly [name: string, value: string];

const BEYOND_BYTE = /[\u0100-\uffff]/;

export function toByteText(text: string): string {
  return BEYOND_BYTE.test(text) ? (encodeText(text.toWellFormed()) as ByteString) : text;
}

function toPairs(pairs: readonly (readonly [string, string])[]): Pair[] {
  return pairs.map(([name, value]) => [toByteText(name), toByteText(value)]);
}

/** A request as rules read it: its parts are worked out when the first rule asks for them. */
export class RequestView {
  readonly facts: RequestFacts;
  readonly uri: string;
  readonly headers: readonly Pair[];
  body = '';
  response: { readonly status: number; readonly headers: readonly Pair[] } | undefined = undefined;
  #path: string | undefined;
  #query: string | undefined;
  #queryArguments: readonly Pair[] | undefined;
  #bodyArguments: readonly Pair[] | undefined;
  #cookies: readonly Pair[] | undefined;

  constructor(facts: RequestFacts) {
    this.facts = facts;
    this.uri = toByteText(facts.uri);
    this.headers = toPairs(facts.headers);
  }

  setBody(body: Uint8Array): void {
    this.body = fromBytes(body);
    this.#bodyArguments = undefined;
  }

  setResponse(response: ResponseFacts): void {
    this.response = { status: response.status, headers: toPairs(response.headers) };
  }

  /** Scheme and host taken off. */
  get target(): string {
    return this.uri.replace(/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#]*/, '') || '/';
  }

  get path(): string {
    this.#path ??= /^[^?#]*/.exec(this.target)?.[0] ?? '';
    return this.#path;
  }

  get query(): string {
    this.#query ??= /^[^?#]*\?([^#]*)/.exec(this.target)?.[1] ?? '';
    return this.#query;
  }

  get queryArguments(): readonly Pair[] {
    this.#queryArguments ??= parseForm(this.query);
    return this.#queryArguments;
  }

  /** Of a body of type application/x-www-form-urlencoded; none of any other. */
  get bodyArguments(): readonly Pair[] {
    this.#bodyArguments ??= this.bodyProcessor === 'URLENCODED' ? parseForm(this.body) : [];
    return this.#bodyArguments;
  }

  get bodyProcessor(): string {
    const type = this.header('content-type') ?? '';
    return /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(type) ? 'URLENCODED' : '';
  }

  get cookies(): readonly Pair[] {
    this.#cookies ??= this.headers
      .filter(([name]) => name.toLowerCase() === 'cookie')
      .flatMap(([, value]) => parseCookies(value));
    return this.#cookies;
  }

  header(name: string): string | undefined {
    return this.headers.find(([header]) => header.toLowerCase() === name)?.[1];
  }
}

/** `a=1&b=2`, percent-decoded; a name without `=` has the value ''. */
function parseForm(text: string): Pair[] {
  const pairs: Pair[] = [];
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = equals === -1 ? part : part.slice(0, equals);
    pairs.push([percentDecode(name), equals === -1 ? '' : percentDecode(part.slice(equals + 1))]);
  }
  return pairs;
}

function parseCookies(text: string): Pair[] {
  const pairs: Pair[] = [];
  for (const part of text.split(';')) {
    const trimmed = part.trim();
    if (trimmed === '') continue;
    const equals = trimmed.indexOf('=');
    pairs.push(
      equals === -1
        ? [trimmed, '']
        : [trimmed.slice(0, equals).trimEnd(), trimmed.slice(equals + 1).trimStart()],
    );
  }
  return pairs;
}
