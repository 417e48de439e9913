import type {
  CleanupBudget,
  CommitOptions,
  CounterWrite,
  Expectation,
  RecordWrite,
  ScanQuery,
} from './backend.js';
import type { ByteString } from './bytes.js';
import { INT64_MAX, INT64_MIN } from './clock.js';
import { WafStateError } from './errors.js';
import { DEFAULT_LIMITS, type Limits } from './limits.js';
import type { Mutation } from './mutation.js';
import { shown } from './options.js';
import {
  COLLECTION_SPACES,
  FIRST_STORE_SPACE,
  MAX_APPLICATION_ID_BYTES,
  MAX_SPACE,
  type RecordName,
  spaceName,
} from './space.js';

/**
 * What every engine checks of a call before any work is done: that it is within the limits and that the record format
 * can express it. Costs about 20 ns a name or value.
 */

const NOT_BYTES = /[^\0-\xff]/;
/** Names are stored in lower case: one spelling a variable. */
const NOT_A_NAME = /[^\0-@[-\xff]/;
const LAST_COLLECTION = Math.max(...Object.values(COLLECTION_SPACES));

/** Throws `invalid_key` for a name that no record can have, `invalid_option` for a time that is none. */
export function checkLoad(record: RecordName, now: bigint, limits: Limits): void {
  checkTime('now', now);
  requireObject('limits', limits);
  requireObject('record', record);
  checkRecord(record, limits);
}

/** The most records that the request's own count of them can say. */
const MAX_WRITES = 65_535;

/**
 * Throws `invalid_key`, `invalid_mutation`, `invalid_option`, or `capacity_exceeded` where there are more mutations than
 * `limits.mutations`, or more than 65,535 writes.
 */
export function checkCommit(writes: readonly RecordWrite[], options: CommitOptions): void {
  requireObject('options', options);
  const { limits } = options;
  requireObject('limits', limits);
  requireArray('writes', writes);
  checkTime('now', options.now);
  if (options.deadline !== undefined) checkTime('deadline', options.deadline);
  if (writes.length > MAX_WRITES) throw tooManyWrites(writes.length);
  let mutations = 0;
  for (const write of writes) {
    requireObject('write', write);
    requireArray('mutations', write.mutations);
    mutations += write.mutations.length;
  }
  checkMutationCount(mutations, limits);
  for (const write of writes) {
    requireObject('record', write.record);
    checkRecord(write.record, limits);
    checkExpectation(write.record, write.expect);
    if (write.timeout !== undefined) checkDuration(write.record, 'timeout', write.timeout);
    for (const mutation of write.mutations) checkMutation(write.record, mutation, limits);
  }
  if (writes.length > 1) checkDistinct(writes);
}

/** The same for one counter. */
export function checkCount(count: CounterWrite, options: CommitOptions): void {
  const { record, timeout, name, delta, deadline } = count;
  const { limits } = options;
  checkTime('now', options.now);
  if (options.deadline !== undefined) checkTime('deadline', options.deadline);
  checkMutationCount(deadline === undefined ? 1 : 2, limits);
  checkRecord(record, limits);
  if (timeout !== undefined) checkDuration(record, 'timeout', timeout);
  checkName(record, name, limits);
  checkInteger(record, 'delta', delta, INT64_MIN);
  if (deadline !== undefined) checkInteger(record, 'deadline', deadline, INT64_MIN);
}

/** Throws `invalid_option`, `invalid_limit` for a budget that is no pair of positive integers. */
export function checkCleanup(now: bigint, budget: CleanupBudget): void {
  checkTime('now', now);
  requireObject('budget', budget);
  for (const name of ['records', 'variables'] as const) {
    const value = budget[name];
    if (Number.isSafeInteger(value) && value > 0) continue;
    throw new WafStateError(
      'invalid_limit',
      `the cleanup budget's ${name} must be an integer from 1, got ${shown(value)}`,
      { details: { option: name, limit: 1, ...(typeof value === 'number' && { actual: value }) } },
    );
  }
}

/** Entries in one page of a scan, at most. */
const MAX_PAGE = 1000;

/** Throws `invalid_option`; `invalid_key` for an `after` that no record can have. */
export function checkScan(query: ScanQuery): void {
  requireObject('query', query);
  const { space, applicationId, prefix, after, limit } = query;
  checkTime('now', query.now);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_PAGE) {
    throw new WafStateError(
      'invalid_option',
      `the limit of a scan must be an integer from 1 to ${MAX_PAGE}, got ${shown(limit)}`,
      {
        details: {
          option: 'limit',
          limit: typeof limit === 'number' && limit < 1 ? 1 : MAX_PAGE,
          ...(typeof limit === 'number' && { actual: limit }),
        },
      },
    );
  }
  if (applicationId !== undefined && space === undefined) throw incomplete('applicationId', 'space');
  if (prefix !== undefined && applicationId === undefined) throw incomplete('prefix', 'applicationId');
  if (after !== undefined) checkRecord(after, DEFAULT_LIMITS);
  // A record that begins with all that the query names must be possible.
  if (space !== undefined) {
    const key = prefix === undefined || prefix === '' ? ANY_KEY : prefix;
    checkRecord({ space, applicationId: applicationId ?? ('' as ByteString), key }, DEFAULT_LIMITS);
  }
}

const ANY_KEY = '0' as ByteString;

function requireObject(name: string, value: unknown): void {
  if (typeof value !== 'object' || value === null) throw notA('an object', name, value);
}

function requireArray(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw notA('an array', name, value);
}

function notA(kind: string, name: string, value: unknown): WafStateError {
  return new WafStateError('invalid_option', `${name} must be ${kind}, got ${shown(value)}`, {
    details: { option: name },
  });
}

function tooManyWrites(writes: number): WafStateError {
  return new WafStateError(
    'capacity_exceeded',
    `the commit has ${writes} writes, at most ${MAX_WRITES} records are changed by one; split it`,
    { details: { option: 'writes', limit: MAX_WRITES, actual: writes } },
  );
}

function incomplete(option: string, needed: string): WafStateError {
  return new WafStateError('invalid_option', `the ${option} of a scan needs a ${needed} beside it`, {
    details: { option },
  });
}

/** Throws `invalid_option` unless the time is within 64 bits. */
export function checkTime(name: string, time: bigint): void {
  if (typeof time === 'bigint' && time <= INT64_MAX && time >= INT64_MIN) return;
  throw new WafStateError(
    'invalid_option',
    `${name} must be a bigint of nanoseconds within 64 signed bits, got ${typeof time === 'bigint' ? time : typeof time}`,
    { details: { option: name, ...(typeof time === 'bigint' && { limit: INT64_MAX, actual: time }) } },
  );
}

/** Throws `invalid_key`. */
export function checkRecord(record: RecordName, limits: Limits): void {
  const { space, applicationId, key } = record;
  if (!Number.isInteger(space) || space < 1 || space > MAX_SPACE || isReserved(space)) {
    throw new WafStateError(
      'invalid_key',
      `a space is an integer from 1 to ${LAST_COLLECTION} or from ${FIRST_STORE_SPACE} to ${MAX_SPACE}, got ${shown(space)}`,
      { details: { option: 'space', limit: MAX_SPACE } },
    );
  }
  checkKeyPart(space, 'applicationId', applicationId, 0, MAX_APPLICATION_ID_BYTES);
  checkKeyPart(space, 'key', key, 1, limits.keyBytes);
}

function isReserved(space: number): boolean {
  return space > LAST_COLLECTION && space < FIRST_STORE_SPACE;
}

function checkKeyPart(space: number, part: string, value: ByteString, least: number, most: number): void {
  if (typeof value === 'string' && value.length >= least && value.length <= most && !NOT_BYTES.test(value)) {
    return;
  }
  const actual = typeof value === 'string' ? value.length : undefined;
  throw new WafStateError(
    'invalid_key',
    `the ${part} of a ${spaceName(space)} record must be a byte string of ${least} to ${most} bytes, got ${describe(value, least, most)}`,
    {
      details: {
        space: spaceName(space),
        option: part,
        limit: most,
        ...(actual !== undefined && { actual }),
      },
    },
  );
}

function describe(value: unknown, least: number, most: number): string {
  if (typeof value !== 'string') return typeof value;
  if (value.length < least || value.length > most) return `${value.length}`;
  return 'a character beyond 255; encode text with encodeText';
}

function checkMutationCount(mutations: number, limits: Limits): void {
  if (mutations <= limits.mutations) return;
  throw new WafStateError(
    'capacity_exceeded',
    `the commit has ${mutations} mutations, the limit mutations allows ${limits.mutations}; split it or raise the limit`,
    { details: { option: 'mutations', limit: limits.mutations, actual: mutations } },
  );
}

function checkExpectation(record: RecordName, expect: Expectation): void {
  if (expect === 'any' || expect === 'absent' || (Number.isSafeInteger(expect) && expect > 0)) return;
  throw invalid(
    record,
    'expect',
    `expect must be 'any', 'absent' or a revision from 1 to 2^53-1, got ${typeof expect === 'number' ? expect : typeof expect}`,
  );
}

function checkMutation(record: RecordName, mutation: Mutation, limits: Limits): void {
  requireObject('mutation', mutation);
  switch (mutation.type) {
    case 'set':
      checkName(record, mutation.name, limits);
      checkValue(record, mutation.value, limits);
      return;
    case 'remove':
      checkName(record, mutation.name, limits);
      return;
    case 'add':
    case 'subtract':
      checkName(record, mutation.name, limits);
      checkInteger(record, 'delta', mutation.delta, INT64_MIN);
      if (mutation.saturates !== undefined && typeof mutation.saturates !== 'boolean')
        throw invalid(record, 'saturates', 'saturates must be true or false');
      return;
    case 'expire':
      checkName(record, mutation.name, limits);
      checkInteger(record, 'deadline', mutation.deadline, INT64_MIN);
      return;
    case 'deprecate':
      checkName(record, mutation.name, limits);
      checkInteger(record, 'amount', mutation.amount, 1n);
      checkInteger(record, 'period', mutation.period, 1n);
      checkInteger(record, 'at', mutation.at, INT64_MIN);
      return;
    case 'timeout':
      if (mutation.duration !== undefined) checkDuration(record, 'timeout', mutation.duration);
      return;
    case 'removeRecord':
      return;
    default:
      throw invalid(record, 'type', `unknown mutation type for the ${spaceName(record.space)} record`);
  }
}

function checkName(record: RecordName, name: ByteString, limits: Limits): void {
  const { nameBytes } = limits;
  if (typeof name === 'string' && name.length > 0 && name.length <= nameBytes && !NOT_A_NAME.test(name)) {
    return;
  }
  const length = typeof name === 'string' ? name.length : 0;
  throw invalid(
    record,
    'name',
    length > 0 && length <= nameBytes
      ? 'a variable name must be a byte string in lower case; use lowerAscii and encodeText'
      : `a variable name must have 1 to ${nameBytes} bytes (limit nameBytes), got ${length}`,
    nameBytes,
    length,
  );
}

function checkValue(record: RecordName, value: ByteString, limits: Limits): void {
  const { valueBytes } = limits;
  if (typeof value === 'string' && value.length <= valueBytes && !NOT_BYTES.test(value)) return;
  const length = typeof value === 'string' ? value.length : 0;
  throw invalid(
    record,
    'value',
    length > valueBytes
      ? `the value has ${length} bytes, the limit valueBytes allows ${valueBytes}; shorten it or raise the limit`
      : 'a value must be a byte string; encode text with encodeText',
    valueBytes,
    length,
  );
}

function checkDuration(record: RecordName, option: string, duration: bigint): void {
  checkInteger(record, option, duration, 1n);
}

function checkInteger(record: RecordName, option: string, value: bigint, least: bigint): void {
  if (typeof value === 'bigint' && value >= least && value <= INT64_MAX) return;
  throw invalid(
    record,
    option,
    `${option} must be a bigint from ${least} to ${INT64_MAX}, got ${typeof value === 'bigint' ? value : typeof value}`,
    typeof value === 'bigint' && value < least ? least : INT64_MAX,
    typeof value === 'bigint' ? value : undefined,
  );
}

function checkDistinct(writes: readonly RecordWrite[]): void {
  const [first, second] = writes as [RecordWrite, RecordWrite];
  if (writes.length === 2 && !isSame(first.record, second.record)) return;
  const seen = new Set<string>();
  for (const { record } of writes) {
    const { space, applicationId, key } = record;
    seen.add(String.fromCharCode(space, applicationId.length) + applicationId + key);
    if (seen.size === writes.length) return;
  }
  throw new WafStateError(
    'invalid_mutation',
    `a record may stand only once in a commit, yet ${writes.length} writes name ${seen.size} records; join their mutations`,
    { details: { limit: 1 } },
  );
}

function isSame(a: RecordName, b: RecordName): boolean {
  return a.space === b.space && a.key === b.key && a.applicationId === b.applicationId;
}

function invalid(
  record: RecordName,
  option: string,
  message: string,
  limit?: number | bigint,
  actual?: number | bigint,
): WafStateError {
  return new WafStateError('invalid_mutation', message, {
    details: {
      space: spaceName(record.space),
      option,
      ...(limit !== undefined && { limit }),
      ...(actual !== undefined && { actual }),
    },
  });
}
