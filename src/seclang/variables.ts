import type { Transaction } from '../collections/index.js';
import { encodeText } from '../contract/bytes.js';
import type { Pair, RequestView } from './request.js';
import type { StateScope } from './state-action.js';
import { readPublishedKey } from './variable-read.js';

/** What variables are read from. */
export interface Context {
  readonly request: RequestView;
  readonly transaction: Transaction;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly applicationId: string;
  /** Nanoseconds since the epoch. */
  readonly startedAt: bigint;
  now(): bigint;
  /** The newest match, and those of the rule that matched last. */
  readonly matched: Pair | undefined;
  readonly matchedAll: readonly Pair[];
  /** id, rev, severity, msg and logdata of the rule that runs. */
  ruleFact(name: string): string | undefined;
}

/** `single` has one value or none; `members` has named ones; `scope` is kept in the transaction. */
export type Variable =
  | { readonly type: 'single'; read(context: Context): string | undefined }
  | { readonly type: 'members'; list(context: Context): readonly Pair[] }
  | { readonly type: 'scope'; readonly scope: StateScope };

function single(read: (context: Context) => string | undefined): Variable {
  return { type: 'single', read };
}

function members(list: (context: Context) => readonly Pair[]): Variable {
  return { type: 'members', list };
}

function names(list: (context: Context) => readonly Pair[]): Variable {
  return members((context) => list(context).map(([name]) => [name, name]));
}

const argumentsGet = ({ request }: Context) => request.queryArguments;
const argumentsPost = ({ request }: Context) => request.bodyArguments;
const allArguments = ({ request }: Context) => {
  const inBody = request.bodyArguments;
  return inBody.length === 0 ? request.queryArguments : [...request.queryArguments, ...inBody];
};
const requestHeaders = ({ request }: Context) => request.headers;
const responseHeaders = ({ request }: Context) => request.response?.headers ?? [];
const cookies = ({ request }: Context) => request.cookies;
const environment = (context: Context): Pair[] =>
  Object.entries(context.environment).map(([name, value = '']) => [
    encodeText(name.toWellFormed()) as string,
    encodeText(value.toWellFormed()) as string,
  ]);

function responseHeader(context: Context, name: string): string | undefined {
  return responseHeaders(context).find(([header]) => header.toLowerCase() === name)?.[1];
}

/** Local time, as ModSecurity has it. */
function time(part: (date: Date) => number | string, width = 0): Variable {
  return single((context) => String(part(new Date(Number(context.now() / 1_000_000n)))).padStart(width, '0'));
}

const RULE_FACTS = ['id', 'rev', 'severity', 'msg', 'logdata'] as const;

export const VARIABLES: Readonly<Record<string, Variable>> = {
  REMOTE_ADDR: single(({ request }) => request.facts.clientAddress),
  REMOTE_HOST: single(({ request }) => request.facts.clientAddress),
  REMOTE_PORT: single(({ request }) => number(request.facts.clientPort)),
  SERVER_ADDR: single(({ request }) => request.facts.serverAddress),
  SERVER_PORT: single(({ request }) => number(request.facts.serverPort)),
  SERVER_NAME: single(({ request }) => request.header('host')?.replace(/:\d*$/, '')),
  REQUEST_METHOD: single(({ request }) => request.facts.method),
  REQUEST_PROTOCOL: single(({ request }) => `HTTP/${request.facts.httpVersion}`),
  REQUEST_LINE: single(
    ({ request }) => `${request.facts.method} ${request.uri} HTTP/${request.facts.httpVersion}`,
  ),
  REQUEST_URI: single(({ request }) => request.target),
  REQUEST_URI_RAW: single(({ request }) => request.uri),
  REQUEST_FILENAME: single(({ request }) => request.path),
  REQUEST_BASENAME: single(({ request }) => /[^/\\]*$/.exec(request.path)?.[0]),
  QUERY_STRING: single(({ request }) => request.query),
  REQUEST_BODY: single(({ request }) => request.body),
  REQUEST_BODY_LENGTH: single(({ request }) => String(request.body.length)),
  REQBODY_PROCESSOR: single(({ request }) => request.bodyProcessor),
  REQUEST_HEADERS: members(requestHeaders),
  REQUEST_HEADERS_NAMES: names(requestHeaders),
  REQUEST_COOKIES: members(cookies),
  REQUEST_COOKIES_NAMES: names(cookies),
  ARGS: members(allArguments),
  ARGS_NAMES: names(allArguments),
  ARGS_GET: members(argumentsGet),
  ARGS_GET_NAMES: names(argumentsGet),
  ARGS_POST: members(argumentsPost),
  ARGS_POST_NAMES: names(argumentsPost),
  ARGS_COMBINED_SIZE: single((context) =>
    String(allArguments(context).reduce((sum, [name, value]) => sum + name.length + value.length, 0)),
  ),
  RESPONSE_STATUS: single(({ request }) => number(request.response?.status)),
  RESPONSE_HEADERS: members(responseHeaders),
  RESPONSE_HEADERS_NAMES: names(responseHeaders),
  RESPONSE_CONTENT_TYPE: single((context) => responseHeader(context, 'content-type')),
  RESPONSE_CONTENT_LENGTH: single((context) => responseHeader(context, 'content-length')),
  TIME: time((date) => [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(':')),
  TIME_EPOCH: single((context) => String(context.now() / 1_000_000_000n)),
  TIME_YEAR: time((date) => date.getFullYear()),
  TIME_MON: time((date) => date.getMonth()),
  TIME_DAY: time((date) => date.getDate()),
  TIME_WDAY: time((date) => date.getDay()),
  TIME_HOUR: time((date) => date.getHours()),
  TIME_MIN: time((date) => date.getMinutes()),
  TIME_SEC: time((date) => date.getSeconds()),
  DURATION: single((context) => String((context.now() - context.startedAt) / 1_000n)),
  UNIQUE_ID: single(({ request }) => request.facts.uniqueId),
  WEBAPPID: single((context) => context.applicationId),
  MATCHED_VAR: single((context) => context.matched?.[1]),
  MATCHED_VAR_NAME: single((context) => context.matched?.[0]),
  MATCHED_VARS: members((context) => context.matchedAll),
  MATCHED_VARS_NAMES: names((context) => context.matchedAll),
  RULE: members((context) =>
    RULE_FACTS.flatMap((name): Pair[] => {
      const value = context.ruleFact(name);
      return value === undefined ? [] : [[name, value]];
    }),
  ),
  ENV: members(environment),
  SESSIONID: single(({ transaction }) => readPublishedKey(transaction, 'SESSIONID')),
  USERID: single(({ transaction }) => readPublishedKey(transaction, 'USERID')),
  TX: { type: 'scope', scope: 'tx' },
  IP: { type: 'scope', scope: 'ip' },
  SESSION: { type: 'scope', scope: 'session' },
  USER: { type: 'scope', scope: 'user' },
  GLOBAL: { type: 'scope', scope: 'global' },
  RESOURCE: { type: 'scope', scope: 'resource' },
};

function number(value: number | undefined): string | undefined {
  return value === undefined ? undefined : String(value);
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
