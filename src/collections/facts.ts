import type { ByteString } from '../contract/bytes.js';
import { SECOND } from '../contract/clock.js';
import type { RecordFacts } from '../contract/snapshot.js';

/**
 * What rules read of a record beside its variables, by the names that ModSecurity 2 gave them. They are told from
 * variables by their exact upper-case spelling and are never listed, counted or matched.
 */
export const FACT_NAMES = [
  'KEY',
  'IS_NEW',
  'CREATE_TIME',
  'LAST_UPDATE_TIME',
  'UPDATE_COUNTER',
  'UPDATE_RATE',
  'TIMEOUT',
] as const;

export type FactName = (typeof FACT_NAMES)[number];

const FACTS: ReadonlySet<string> = new Set(FACT_NAMES);
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;

export function isFactName(name: ByteString): name is ByteString & FactName {
  const first = name.charCodeAt(0);
  return first >= UPPER_A && first <= UPPER_Z && FACTS.has(name);
}

/** A record's facts as a transaction sees them, typed. Times are nanoseconds since the epoch. */
export interface CollectionFacts {
  /** As text; a key that is not UTF-8 has U+FFFD in it. */
  readonly key: string;
  /** The record's revision, or 0: there is none yet. */
  readonly revision: number;
  /** Whether there is no record yet. False where that is not known, in a degraded binding. */
  readonly isNew: boolean;
  /** Of a new record: now. */
  readonly createTime: bigint;
  /** `undefined` until the first store. */
  readonly lastUpdateTime: bigint | undefined;
  /** Commits since creation. */
  readonly updateCounter: number;
  /** Commits a minute since creation, rounded down; 0 in the record's first second. */
  readonly updateRate: number;
  /** The sliding timeout in nanoseconds; `undefined` = none. */
  readonly timeout: bigint | undefined;
  /** The load failed and the policy let the request go on: what is stored is not known. */
  readonly degraded: boolean;
}

/** ModSecurity 2's UPDATE_RATE: floor(60 × count / seconds since creation), 0 in the first second. */
export function updateRate(facts: RecordFacts | undefined, now: bigint): number {
  if (facts === undefined) return 0;
  const age = now - facts.created;
  return age < SECOND ? 0 : Number((60n * BigInt(facts.updateCount) * SECOND) / age);
}

/** A fact as a rule reads it: times and TIMEOUT in seconds, `undefined` = absent. */
export function factText(facts: CollectionFacts, name: FactName): string | undefined {
  switch (name) {
    case 'KEY':
      return facts.key;
    case 'IS_NEW':
      return facts.isNew ? '1' : undefined;
    case 'CREATE_TIME':
      return wholeSeconds(facts.createTime);
    case 'LAST_UPDATE_TIME':
      return facts.lastUpdateTime === undefined ? undefined : wholeSeconds(facts.lastUpdateTime);
    case 'UPDATE_COUNTER':
      return String(facts.updateCounter);
    case 'UPDATE_RATE':
      return String(facts.updateRate);
    case 'TIMEOUT':
      return facts.timeout === undefined ? undefined : decimalSeconds(facts.timeout);
  }
}

function wholeSeconds(time: bigint): string {
  return String(time / SECOND);
}

function decimalSeconds(duration: bigint): string {
  const fraction = duration % SECOND;
  if (fraction === 0n) return String(duration / SECOND);
  return `${duration / SECOND}.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`;
}
