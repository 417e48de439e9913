import { describe, expect, it } from 'vitest';
import type { CommitResult, RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { WafStateError } from '../../src/contract/errors.js';
import { ReplyReader } from '../../src/record/reply.js';
import { NO_MUTATION, type Refusal, Status } from '../../src/record/status.js';
import { typescriptCodec } from '../../src/record/typescript/codec.js';
import { ReplyWriter } from '../../src/record/typescript/reply-writer.js';
import { requestBytes } from './pairs.js';

const text = (value: string): ByteString => value as ByteString;
const WRITES: readonly RecordWrite[] = [
  { record: { space: 1, applicationId: text('shop'), key: text('secret') }, expect: 7, mutations: [] },
  { record: { space: 17, applicationId: text(''), key: text('secret') }, expect: 'any', mutations: [] },
];

/** Each status, and what the error that comes of it says. */
const REFUSALS: readonly (readonly [string, Refusal, string, RegExp, object])[] = [
  [
    'conflict',
    refusal(Status.conflict, 0, NO_MUTATION, 7, 9),
    'conflict',
    /ip record is at revision 9, the commit expected 7/,
    { space: 'ip', limit: 7, actual: 9 },
  ],
  ['malformed', refusal(Status.malformed, 0, NO_MUTATION, 0, 0), 'invalid_mutation', /within the limits/, {}],
  [
    'overflow',
    refusal(Status.overflow, 1, 3, 0, 0),
    'capacity_exceeded',
    /store 17 record .* \(mutation 3 of its batch\)/,
    { space: 'store 17' },
  ],
  [
    'variables',
    refusal(Status.tooManyVariables, 0, 5, 4096, 4097),
    'capacity_exceeded',
    /4097 variables .* limit is 4096.*limits\.variables/,
    { space: 'ip', option: 'variables', limit: 4096, actual: 4097 },
  ],
  [
    'record',
    refusal(Status.recordTooLarge, 0, NO_MUTATION, 100, 120),
    'capacity_exceeded',
    /120 bytes .* limit is 100.*limits\.recordBytes/,
    { space: 'ip', option: 'recordBytes', limit: 100, actual: 120 },
  ],
  [
    'corrupt',
    refusal(Status.corrupt, 0, NO_MUTATION, 0, 4),
    'corrupt_data',
    /ip record is corrupt: its checksum is wrong \(reason 4\)/,
    { space: 'ip', actual: 4 },
  ],
  [
    'map',
    refusal(Status.mapFull, 0, NO_MUTATION, 2 ** 30, 4096),
    'capacity_exceeded',
    /1073741824 bytes is full, the commit needs 4096 more.*mapSize/,
    { space: 'ip', option: 'mapSize', limit: 2 ** 30, actual: 4096 },
  ],
  [
    'map, need unknown',
    refusal(Status.mapFull, 0, NO_MUTATION, 2 ** 30, 0),
    'capacity_exceeded',
    /is full; run/,
    { space: 'ip', option: 'mapSize', limit: 2 ** 30 },
  ],
  [
    'revisions',
    refusal(Status.revisionsUsedUp, 0, NO_MUTATION, 2 ** 53 - 1, 0),
    'capacity_exceeded',
    /used up at 9007199254740991/,
    { space: 'ip', limit: 2 ** 53 - 1 },
  ],
  [
    'disk',
    refusal(Status.diskFull, 0, NO_MUTATION, 0, 28),
    'capacity_exceeded',
    /disk is full \(errno 28\)/,
    { space: 'ip', actual: 28 },
  ],
  [
    'engine',
    refusal(Status.engineError, 0, NO_MUTATION, 0, -30_790),
    'unavailable',
    /code -30790/,
    { space: 'ip', actual: -30_790 },
  ],
  [
    'not executed',
    refusal(Status.notExecuted, 0, NO_MUTATION, 0, 0),
    'unavailable',
    /retry/,
    { space: 'ip' },
  ],
  [
    'table',
    refusal(Status.tableFull, 0, NO_MUTATION, 1000, 2000),
    'capacity_exceeded',
    /1000 bytes is full, the commit needs 2000/,
    { space: 'ip', limit: 1000, actual: 2000 },
  ],
];

function refusal(
  status: Refusal['status'],
  write: number,
  mutation: number,
  limit: number,
  actual: number,
): Refusal {
  return { status, write, mutation, limit, actual };
}

describe('a refusal', () => {
  it.each(REFUSALS)('%s', (_, refused, code, message, details) => {
    const writer = new ReplyWriter();
    writer.beginAnswer();
    writer.refuse(refused);
    const reply = writer.copy();
    expect(reply).toHaveLength(28);
    const reader = new ReplyReader(reply);
    expect(reader.nextRefusal()).toEqual(refused);
    expect(reader.done).toBe(true);
    const error = new ReplyReader(reply).next(WRITES) as WafStateError;
    expect(error).toBeInstanceOf(WafStateError);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
    expect(error.message).not.toContain('secret');
    expect(error.details).toMatchObject(details);
  });

  it('is tested for every status but applied', () => {
    const tested = new Set(REFUSALS.map(([, { status }]) => status));
    expect([...tested].sort((a, b) => a - b)).toEqual(Object.values(Status).filter((status) => status !== 0));
  });
});

const second = 1_000_000_000n;
const touches: RecordWrite = {
  record: { space: 1, applicationId: text(''), key: text('k') },
  expect: 'any',
  mutations: [
    { type: 'add', name: text('n'), delta: -5n },
    { type: 'timeout', duration: 3600n * second },
    { type: 'set', name: text('bytes'), value: text('\u00ff\u0000') },
    { type: 'expire', name: text('n'), deadline: 60n * second, onlyIfNone: false },
    { type: 'expire', name: text('waiting'), deadline: 60n * second, onlyIfNone: false },
    { type: 'set', name: text('gone'), value: text('1') },
    { type: 'expire', name: text('gone'), deadline: second, onlyIfNone: false },
    { type: 'remove', name: text('never') },
  ],
};
const EXPECTED = [
  ['n', { value: '-5', deadline: 60n * second }],
  ['bytes', { value: '\u00ff\u0000', deadline: undefined }],
  ['waiting', undefined],
  ['gone', undefined],
  ['never', undefined],
];

function result(): CommitResult {
  const request = requestBytes([touches], second, { recordBytes: 1000, variables: 10 });
  const { answer } = typescriptCodec.apply(undefined, request, 12);
  const results = new ReplyReader(answer).next([touches]);
  if (results instanceof WafStateError) throw results;
  return results[0] as CommitResult;
}

describe('the values of a result', () => {
  it('are the touched variables in the order of first touch', () => {
    const { revision, existed, values } = result();
    expect(revision).toBe(12);
    expect(existed).toBe(false);
    expect([...values]).toEqual(EXPECTED);
  });

  it('read as any map does', () => {
    const map = new Map(EXPECTED as [ByteString, undefined][]);
    expect(result().values.size).toBe(5);
    expect([...result().values.keys()]).toEqual([...map.keys()]);
    expect([...result().values.values()]).toEqual([...map.values()]);
    expect([...result().values.entries()]).toEqual([...map.entries()]);
    expect(result().values.get(text('n'))).toEqual(map.get(text('n')));
    expect(result().values.has(text('waiting'))).toBe(true);
    expect(result().values.has(text('other'))).toBe(false);
    const seen: unknown[] = [];
    const { values } = result();
    values.forEach((value, name, all) => {
      seen.push([name, value, all === values]);
    });
    expect(seen).toEqual(EXPECTED.map(([name, value]) => [name, value, true]));
  });
});
