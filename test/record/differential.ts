import { isDeepStrictEqual } from 'node:util';
import type { WafStateError } from '../../src/contract/errors.js';
import { Corruption } from '../../src/record/corruption.js';
import type { RecordCodec } from '../../src/record/record.js';
import { type Pair, pair, requestBytes } from './pairs.js';
import { Random } from './random.js';
import { readBatch } from './read-batch.js';

/** What the pairs exercised: a run that never met a status has not tested it. */
export interface Coverage {
  pairs: number;
  /** By status of the answer. */
  readonly statuses: Map<number, number>;
  /** By reason of corruption, of existing records. */
  readonly corruptions: Map<number, number>;
}

export interface Difference {
  readonly index: number;
  readonly what: string;
  readonly pair: Pair;
}

export function coverage(): Coverage {
  return { pairs: 0, statuses: new Map(), corruptions: new Map() };
}

/** The pair of that number in a run; each has a seed of its own, so it can be made again alone. */
export function pairOf(seed: number, index: number): Pair {
  return pair(new Random(seed + Math.imul(index, 0x9e3779b1)));
}

/** Compares the two codecs on the pairs from `from` to `to`; gives the first difference. */
export function compare(
  one: RecordCodec,
  other: RecordCodec,
  seed: number,
  from: number,
  to: number,
  seen: Coverage,
): Difference | undefined {
  for (let index = from; index < to; index++) {
    const made = pairOf(seed, index);
    if (difference(one, other, made) !== undefined) {
      const smallest = shrink(one, other, made);
      return { index, what: difference(one, other, smallest) as string, pair: smallest };
    }
    seen.pairs++;
    count(seen.statuses, one.apply(made.existing, made.request, made.revision).answer[4] as number);
    if (made.existing !== undefined) count(seen.corruptions, one.check(made.existing));
  }
  return undefined;
}

/** How the codecs differ on a pair, in words; `undefined` = they do not. */
export function difference(
  one: RecordCodec,
  other: RecordCodec,
  { existing, request, revision }: Pair,
): string | undefined {
  const before = Buffer.from(existing ?? []);
  const a = one.apply(existing, request, revision);
  const b = other.apply(existing, request, revision);
  if (!equal(a.answer, b.answer)) return `answers: ${hex(a.answer)} and ${hex(b.answer)}`;
  if (!equal(a.record, b.record)) return `records: ${hex(a.record)} and ${hex(b.record)}`;
  if (a.record !== undefined && one.check(a.record) !== Corruption.none)
    return `result is no record: ${hex(a.record)}`;
  if (existing === undefined) return undefined;
  if (!before.equals(existing)) return 'the existing record was changed in place';
  const reasons = [one.check(existing), other.check(existing)];
  if (reasons[0] !== reasons[1]) return `reasons of corruption: ${reasons.join(' and ')}`;
  const decoded = [decode(one, existing), decode(other, existing)];
  if (!isDeepStrictEqual(decoded[0], decoded[1])) return 'decoded records';
  if (reasons[0] !== Corruption.none) return undefined;
  for (const codec of [one, other]) {
    if (!equal(codec.encode(codec.decode(existing)), existing))
      return `encode after decode, ${codec.implementation}`;
  }
  return undefined;
}

export function describe({ existing, request, revision }: Pair): string {
  return [`existing ${hex(existing)}`, `request  ${hex(request)}`, `revision ${revision}`].join('\n');
}

/** The record, or code and message: the codecs must fail alike too. */
function decode(codec: RecordCodec, bytes: Uint8Array): unknown {
  try {
    return codec.decode(bytes);
  } catch (error) {
    const { code, message } = error as WafStateError;
    return { code, message };
  }
}

/** The same pair with whatever can go from the batch and the record without the difference going too. */
function shrink(one: RecordCodec, other: RecordCodec, found: Pair): Pair {
  let best = found;
  for (let smaller: Pair | undefined = best; smaller !== undefined; ) {
    best = smaller;
    smaller = reductions(one, best).find((candidate) => difference(one, other, candidate) !== undefined);
  }
  return best;
}

function reductions(codec: RecordCodec, { existing, request, revision }: Pair): Pair[] {
  const smaller: Pair[] = [];
  const [parsed] = readBatch(request);
  const write = parsed?.writes[0];
  if (parsed !== undefined && write !== undefined && parsed.writes.length === 1) {
    for (let i = 0; i < write.mutations.length; i++) {
      const shorter = { ...write, mutations: write.mutations.filter((_, index) => index !== i) };
      smaller.push({ existing, request: requestBytes([shorter], parsed.now, parsed.limits), revision });
    }
  }
  if (existing !== undefined && codec.check(existing) === Corruption.none) {
    const record = codec.decode(existing);
    for (const dropped of record.variables.keys()) {
      const variables = new Map([...record.variables].filter(([name]) => name !== dropped));
      smaller.push({ existing: codec.encode({ ...record, variables }), request, revision });
    }
  }
  return smaller;
}

function equal(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;
}

function hex(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? 'none' : Buffer.from(bytes).toString('hex');
}

function count(map: Map<number, number>, key: number): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}
