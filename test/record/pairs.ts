import type { Expectation, RecordWrite } from '../../src/contract/backend.js';
import type { ByteString } from '../../src/contract/bytes.js';
import { INT64_MAX, INT64_MIN } from '../../src/contract/clock.js';
import type { Mutation } from '../../src/contract/mutation.js';
import type { Variable } from '../../src/contract/snapshot.js';
import type { RecordName } from '../../src/contract/space.js';
import type { RecordLimits } from '../../src/record/apply.js';
import type { StoredRecord } from '../../src/record/record.js';
import { RequestWriter } from '../../src/record/request.js';
import { Tag } from '../../src/record/tag.js';
import { typescriptCodec } from '../../src/record/typescript/codec.js';
import { RecordScan } from '../../src/record/typescript/scan.js';
import { xxh32 } from '../../src/record/typescript/xxh32.js';
import type { Random } from './random.js';

/** One case: a record, a batch for it, and what the hostile half of them was made from. */
export interface Pair {
  readonly existing: Uint8Array | undefined;
  readonly request: Uint8Array;
  readonly revision: number;
}

/** A sound case before it becomes bytes. */
export interface SoundPair {
  readonly stored: StoredRecord | undefined;
  readonly write: RecordWrite;
  readonly now: bigint;
  readonly limits: RecordLimits;
  readonly revision: number;
}

const text = (value: string): ByteString => value as ByteString;

// Few names, so that batches meet what is stored; prefixes of each other, bytes beyond ASCII, and a long one.
const NAMES = [
  'n',
  'na',
  'nb',
  'n\0',
  'm',
  'dos_counter',
  '\u00e9',
  '\u00ff\u00ff',
  '_',
  '~',
  'x'.repeat(30),
  'y'.repeat(300),
].map(text);
const VALUES = [
  '',
  '0',
  '-0',
  '+0',
  '00',
  '1',
  '-1',
  '+1',
  '01',
  '12x',
  '1.9',
  'abc',
  ' 7',
  '\t-7',
  '\u00a07',
  '-',
  '--1',
  '1 ',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '999999999999999999',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '-9223372036854775809',
  '18446744073709551616',
  '9999999999999999999',
  '-9999999999999999999',
  '000000000000000000000000000000012',
  'v'.repeat(40),
  '1'.repeat(20),
  '\u00ff'.repeat(5),
  'Mozilla/5.0 (X11; Linux x86_64)',
].map(text);
const INTEGERS = [
  0n,
  1n,
  -1n,
  2n,
  10n,
  99n,
  100n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  -(2n ** 32n),
  2n ** 53n,
  -(2n ** 53n) - 1n,
  INT64_MAX,
  INT64_MIN,
  INT64_MAX - 1n,
  INT64_MIN + 1n,
];
const SPACES = [1, 2, 5, 16, 255];
const REVISIONS = [1, 2, 0xffff_ffff, 2 ** 32, 1_800_000_000_000_000, Number.MAX_SAFE_INTEGER];
const UPDATE_COUNTS = [1, 2, 0xffff_ffff, 2 ** 32, 2 ** 48 - 2, 2 ** 48 - 1];
const BASE = 1_800_000_000_000_000_000n;

/** Times that lie close together, so that deadlines are met exactly, with the ends of the range among them. */
function time(random: Random): bigint {
  if (random.chance(0.05)) return random.pick(INTEGERS);
  return BASE + BigInt(random.below(8)) * (random.chance(0.2) ? 2n ** 32n : 1n);
}

function duration(random: Random): bigint {
  return random.chance(0.1)
    ? random.pick([INT64_MAX, INT64_MAX - BASE, 2n ** 32n])
    : BigInt(1 + random.below(6));
}

function integer(random: Random): bigint {
  return random.chance(0.2) ? random.int64() : random.pick(INTEGERS);
}

function value(random: Random): ByteString {
  return random.chance(0.3) ? text(String(integer(random))) : random.pick(VALUES);
}

function recordName(random: Random): RecordName {
  return {
    space: random.pick(SPACES),
    applicationId: random.pick([text(''), text('app'), text('a'.repeat(255))]),
    key: random.pick([text('203.0.113.9'), text('k'), text('\0'), text('K'.repeat(1024))]),
  };
}

function variable(random: Random, created: bigint): Variable {
  const deadline = random.chance(0.5) ? time(random) : undefined;
  if (deadline !== undefined && random.chance(0.2)) return { value: undefined, deadline, clock: undefined };
  return { value: value(random), deadline, clock: random.chance(0.5) ? created : time(random) };
}

export function storedRecord(random: Random): StoredRecord {
  const created = time(random);
  const chosen = NAMES.filter(() => random.chance(0.35)).sort((a, b) => (a < b ? -1 : 1));
  return {
    name: recordName(random),
    revision: random.pick(REVISIONS),
    facts: {
      created,
      updated: time(random),
      updateCount: random.pick(UPDATE_COUNTS),
      timeout: random.chance(0.4) ? duration(random) : undefined,
    },
    variables: new Map(chosen.map((name) => [name, variable(random, created)])),
  };
}

function mutation(random: Random): Mutation {
  const name = random.pick(NAMES);
  switch (random.below(20)) {
    case 0:
      return { type: 'timeout', duration: random.chance(0.3) ? undefined : duration(random) };
    case 1:
      return random.chance(0.3) ? { type: 'removeRecord' } : { type: 'remove', name };
    case 2:
    case 3:
      return { type: 'remove', name };
    case 4:
    case 5:
    case 6:
      return { type: 'set', name, value: value(random) };
    case 7:
    case 8:
      return { type: 'subtract', name, delta: integer(random), saturates: random.chance(0.3) };
    case 9:
    case 10:
      return {
        type: 'deprecate',
        name,
        amount: positive(random),
        period: positive(random),
        at: time(random),
      };
    case 11:
    case 12:
    case 13:
    case 14:
      return { type: 'expire', name, deadline: time(random), onlyIfNone: random.chance(0.5) };
    default:
      return {
        type: 'add',
        name,
        delta: random.chance(0.7) ? BigInt(random.below(5)) : integer(random),
        saturates: random.chance(0.3),
      };
  }
}

/** What a counter does most: it adds to what is stored, and moves its deadline. */
function count(random: Random, name: ByteString): Mutation {
  if (random.chance(0.5))
    return { type: 'expire', name, deadline: time(random), onlyIfNone: random.chance(0.3) };
  const delta = random.chance(0.8) ? BigInt(random.below(5)) : integer(random);
  return { type: random.chance(0.8) ? 'add' : 'subtract', name, delta, saturates: random.chance(0.3) };
}

function positive(random: Random): bigint {
  return random.chance(0.2) ? INT64_MAX : BigInt(1 + random.below(4));
}

function expectation(random: Random, stored: StoredRecord | undefined): Expectation {
  if (random.chance(0.6)) return 'any';
  if (random.chance(0.4)) return 'absent';
  return stored !== undefined && random.chance(0.8) ? stored.revision : random.pick(REVISIONS);
}

/** Limits that most batches keep, and some meet exactly or miss by a little. */
function limits(random: Random, stored: StoredRecord | undefined): RecordLimits {
  const count = stored?.variables.size ?? 0;
  let size = 0;
  for (const [name, { value: held }] of stored?.variables ?? []) size += name.length + (held?.length ?? 0);
  return {
    variables: random.chance(0.6) ? 4096 : Math.max(0, count - 1 + random.below(4)),
    recordBytes: random.chance(0.6) ? 2 ** 21 : Math.max(0, size - 8 + random.below(40)),
  };
}

export function soundPair(random: Random): SoundPair {
  const stored = random.chance(0.8) ? storedRecord(random) : undefined;
  const record = stored !== undefined && random.chance(0.98) ? stored.name : recordName(random);
  const names = [...(stored?.variables.keys() ?? [])];
  const counts = names.length > 0 && random.chance(0.4);
  const mutations = Array.from({ length: random.chance(0.05) ? 40 : random.below(6) }, () =>
    counts ? count(random, random.pick(names)) : mutation(random),
  );
  return {
    stored,
    write: {
      record,
      expect: expectation(random, stored),
      timeout: random.chance(0.3) ? duration(random) : undefined,
      mutations,
    },
    now: time(random),
    limits: limits(random, stored),
    revision: random.pick(REVISIONS),
  };
}

const writer = new RequestWriter();

export function requestBytes(writes: readonly RecordWrite[], now: bigint, bounds: RecordLimits): Buffer {
  writer.clear();
  writer.append(writes, now, bounds);
  return Buffer.from(writer.bytes);
}

/** A case as bytes; every third has been damaged on purpose. */
export function pair(random: Random): Pair {
  const sound = soundPair(random);
  let existing = sound.stored === undefined ? undefined : typescriptCodec.encode(sound.stored);
  let request: Uint8Array = requestBytes([sound.write], sound.now, sound.limits);
  if (random.chance(0.2)) existing = hostileRecord(random, existing);
  if (random.chance(0.15)) request = hostileRequest(random, request);
  return { existing, request, revision: sound.revision };
}

function hostileRecord(random: Random, existing: Uint8Array | undefined): Uint8Array {
  if (existing === undefined || random.chance(0.05)) return random.bytes(random.below(120));
  const damaged = random.chance(0.2) ? breakRule(random, existing) : damage(random, existing);
  // A right checksum, so that the damage is looked at and not only noticed.
  if (random.chance(0.8) && damaged.length >= 4) sign(damaged);
  return damaged;
}

function hostileRequest(random: Random, request: Uint8Array): Uint8Array {
  if (random.chance(0.05)) return random.bytes(random.below(120));
  const damaged = damage(random, request);
  if (random.chance(0.8) && damaged.length >= 4) damaged.writeUInt32LE(damaged.length, 0);
  return damaged;
}

const scan = new RecordScan();

/** A copy that is well formed but not canonical: what blind damage hardly ever hits. */
function breakRule(random: Random, record: Uint8Array): Buffer {
  const broken = Buffer.from(record);
  scan.open(broken);
  if (scan.count === 0) return broken;
  const index = random.below(scan.count);
  const at = (position: number) => position - scan.start;
  const tag = scan.tag(index);
  if ((tag & Tag.kind) === Tag.bytes && random.chance(0.5)) {
    const value = at(scan.valueStart(index));
    broken.fill('1', value + 4, value + 4 + broken.readUInt32LE(value));
  } else if (tag & Tag.clock && random.chance(0.5)) {
    const clock = at(scan.deadlineStart(index)) + (tag & Tag.deadline ? 8 : 0);
    broken.copyWithin(clock, 16, 24);
  } else {
    const name = at(scan.variableStart(index)) + 3;
    broken.fill(random.pick([0, 0xff, 0x41]), name, name + 1);
  }
  return broken;
}

/** A copy with one to three faults in it. */
function damage(random: Random, bytes: Uint8Array): Buffer {
  let damaged = Buffer.from(bytes);
  for (let faults = 1 + random.below(3); faults > 0 && damaged.length > 0; faults--) {
    // Half of them where the headers are: most bytes of a name or value may be anything.
    const at = random.below(random.chance(0.5) ? Math.min(48, damaged.length) : damaged.length);
    switch (random.below(6)) {
      case 0:
        damaged[at] = (damaged[at] as number) ^ (1 << random.below(8));
        break;
      case 1:
        damaged[at] = random.pick([0, 1, 2, 4, 8, 0x2d, 0x31, 0x39, 0x41, 0x5a, 0x7f, 0x80, 0xff]);
        break;
      case 2:
        damaged = damaged.subarray(0, random.below(damaged.length + 1));
        break;
      case 3:
        damaged = Buffer.concat([
          damaged.subarray(0, at),
          random.bytes(1 + random.below(9)),
          damaged.subarray(at),
        ]);
        break;
      case 4:
        damaged = Buffer.concat([damaged.subarray(0, at), damaged.subarray(at + 1 + random.below(9))]);
        break;
      default:
        damaged.fill(random.pick([0, 0xff]), at, Math.min(at + 8, damaged.length));
        break;
    }
  }
  return Buffer.from(damaged);
}

/** Puts the right checksum at the end. */
export function sign(record: Buffer): void {
  const end = record.length - 4;
  record.writeUInt32LE(xxh32(new DataView(record.buffer, record.byteOffset), 0, end), end);
}
