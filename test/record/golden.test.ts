import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import type { StoredRecord } from '../../src/record/record.js';
import { CODECS } from './codecs.js';
import { requestBytes } from './pairs.js';

/** The four dumps of docs/format.md: a record, then a batch on it, the record after it and the reply. */
const [before, request, after, answer] = dumps();

function dumps(): [Buffer, Buffer, Buffer, Buffer] {
  const page = readFileSync(new URL('../../docs/format.md', import.meta.url), 'utf8');
  const blocks = page
    .split(/\n\n/)
    .filter((block) => /^ {4}[0-9a-f]{2} {1,2}[0-9a-f]{2} [0-9a-f]{2} /.test(block));
  return blocks.map((block) => {
    // Hex pairs, up to three blanks in a row; the first dump has offsets before them.
    const lines = block
      .split('\n')
      .map((line) => line.replace(/^ {4}([0-9a-f]{2} {2})?/, '').split('   ')[0]);
    return Buffer.from(lines.join('').replaceAll(' ', ''), 'hex');
  }) as [Buffer, Buffer, Buffer, Buffer];
}

const text = (value: string): ByteString => value as ByteString;
const CREATED = 1_700_000_000_000_000_000n;
const SECOND = 1_000_000_000n;
const REVISION = 1_700_000_000_000_123;

const RECORD: StoredRecord = {
  name: { space: 1, applicationId: text('shop'), key: text('203.0.113.9') },
  revision: REVISION,
  facts: { created: CREATED, updated: CREATED + 60n * SECOND, updateCount: 3, timeout: 3600n * SECOND },
  variables: new Map([
    [text('blocked'), { value: undefined, deadline: CREATED + 3660n * SECOND, clock: undefined }],
    [text('failures'), { value: text('5'), deadline: CREATED + 60n * SECOND, clock: CREATED }],
    [text('where'), { value: text('/at'), deadline: undefined, clock: CREATED + SECOND }],
  ]),
};

const NOW = CREATED + 59n * SECOND;
const WRITE: RecordWrite = {
  record: RECORD.name,
  expect: REVISION,
  mutations: [
    { type: 'add', name: text('failures'), delta: 1n },
    { type: 'expire', name: text('failures'), deadline: CREATED + 119n * SECOND, onlyIfNone: false },
    { type: 'set', name: text('where'), value: text('-12') },
  ],
};

describe.each(CODECS)('the worked example of docs/format.md, %s', (_, codec) => {
  it('is what encode writes and decode reads', () => {
    expect(Buffer.from(codec.encode(RECORD))).toEqual(before);
    expect(codec.decode(before)).toEqual(RECORD);
  });

  it('is what the request writer writes', () => {
    expect(requestBytes([WRITE], NOW, { recordBytes: 2 ** 21, variables: 4096 })).toEqual(request);
  });

  it('is what apply leaves and answers', () => {
    const applied = codec.apply(before, request, REVISION + 1);
    expect(Buffer.from(applied.record as Uint8Array)).toEqual(after);
    expect(Buffer.from(applied.answer)).toEqual(answer);
  });

  it('conflicts when it is sent again', () => {
    const applied = codec.apply(after, request, REVISION + 2);
    expect(applied.record).toBeUndefined();
    expect(Buffer.from(applied.answer).toString('hex')).toBe(
      '1c000000' + '01000000' + 'ffffffff' + '7b401e18240a0600' + '7c401e18240a0600',
    );
  });
});

/** Values and the bytes they have in a record: kind, then what follows the name. */
const VALUES: readonly (readonly [value: string, bytes: string])[] = [
  ['', `02${'00000000'}`],
  ['0', '010000000000000000'],
  ['-0', '02020000002d30'],
  ['00', '02020000003030'],
  ['+1', '02020000002b31'],
  ['1', '010100000000000000'],
  ['-1', '01ffffffffffffffff'],
  ['1 ', '02020000003120'],
  ['9007199254740993', '010100000000002000'],
  ['9223372036854775807', '01ffffffffffffff7f'],
  ['-9223372036854775808', '010000000000000080'],
  ['9223372036854775808', '021300000039323233333732303336383534373735383038'],
  ['-9223372036854775809', '02140000002d39323233333732303336383534373735383039'],
  ['\u00ff\u0000', '0202000000ff00'],
];

describe.each(CODECS)('values, %s', (_, codec) => {
  it.each(VALUES)('%j has its one spelling', (value, bytes) => {
    const variables = new Map([[text('n'), { value: text(value), deadline: undefined, clock: 5n }]]);
    const record: StoredRecord = {
      name: { space: 16, applicationId: text(''), key: text('k') },
      revision: 1,
      facts: { created: 5n, updated: 5n, updateCount: 1, timeout: undefined },
      variables,
    };
    const encoded = Buffer.from(codec.encode(record)).toString('hex');
    expect(encoded).toContain(`6b0100${bytes.slice(0, 2)}6e${bytes.slice(2)}`);
    expect(codec.decode(Buffer.from(encoded, 'hex'))).toEqual(record);
  });
});
