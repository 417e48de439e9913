import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend, CommitResult, RecordWrite } from '../contract/backend.js';
import type { ByteString } from '../contract/bytes.js';
import type { Clock } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import type { Mutation } from '../contract/mutation.js';
import { ATTEMPTS, type Current, currentOf, load, recordOf, STORE_LIMITS, VALUE } from './entry.js';

/** What a change makes of an entry, decided from what is there. */
export interface Decision<T> {
  /** Undefined: nothing is to be changed. */
  readonly mutations: readonly Mutation[] | undefined;
  /** What the caller gets; `after` is the entry that the change left, undefined where it left none. */
  readonly result: (after: Current | undefined) => T;
}

export interface Step<T> {
  readonly key: ByteString;
  /** Throws what refuses the change. Called again where somebody else was faster. */
  readonly decide: (current: Current | undefined, now: bigint) => Decision<T>;
}

/** Where a change is made. */
export interface Ground {
  readonly backend: Backend;
  readonly namespace: ByteString;
  readonly clock: Clock;
  /** Bounds the entries; undefined: nothing does. */
  readonly room: Room | undefined;
  /** Told of every change, in the order of the commits. Undefined where the engine has other writers than this store. */
  readonly journal: Journal | undefined;
}

/** What is asked for leave before entries are added. */
export interface Room {
  /**
   * Leave for new entries in a commit that follows at once where this is no promise. Throws `store_full`. The ticket must be settled
   * whatever comes of the commit.
   */
  admit(additions: readonly Addition[], now: bigint): Ticket | Promise<Ticket>;
  /** Entries were removed, or expire sooner than before. */
  freed(): void;
}

/** An entry that is about to come into being. */
export interface Addition {
  readonly key: ByteString;
  /** Of its record, 0 where there is none; else there is one whose entry is expired. */
  readonly revision: number;
}

export interface Ticket {
  /** What the same commit must do beside, after the caller's own writes. */
  readonly writes: readonly RecordWrite[];
  /** The results of those writes, or undefined where the commit failed. */
  settle(results: readonly CommitResult[] | undefined): void;
}

export interface Journal {
  changed(key: ByteString, before: Current | undefined, after: Current | undefined): void;
}

/**
 * Looks at the entries, decides, and commits what was decided on the condition that they are still as they were: all of it or
 * nothing. What somebody else changed meanwhile is looked at again, at most `ATTEMPTS` times; beyond `retry_limit_exceeded`.
 */
export async function change<T>(ground: Ground, steps: readonly Step<T>[]): Promise<T[]> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await attemptChange(ground, steps);
    } catch (error) {
      if (!(error instanceof WafStateError && error.code === 'conflict' && isEngines(error))) throw error;
      if (attempt === ATTEMPTS) throw exhausted(error);
      await sleep(Math.random() * Math.min(2 ** attempt, 32));
    }
  }
}

interface Looked<T> {
  readonly step: Step<T>;
  readonly revision: number;
  readonly before: Current | undefined;
  readonly decision: Decision<T>;
}

async function attemptChange<T>(ground: Ground, steps: readonly Step<T>[]): Promise<T[]> {
  const { backend, namespace, clock, room, journal } = ground;
  const now = clock.now();
  const looked: Looked<T>[] = [];
  for (const step of steps) {
    const loading = load(backend, recordOf(namespace, step.key), now);
    const snapshot = loading instanceof Promise ? await loading : loading;
    const before = currentOf(snapshot);
    looked.push({ step, revision: snapshot.revision, before, decision: step.decide(before, now) });
  }
  const changing = looked.filter(({ decision }) => decision.mutations !== undefined);
  if (changing.length === 0) return looked.map(({ before, decision }) => decision.result(before));
  const writes = changing.map(
    ({ step, revision, decision }): RecordWrite => ({
      record: recordOf(namespace, step.key),
      expect: revision === 0 ? 'absent' : revision,
      mutations: decision.mutations ?? [],
    }),
  );
  const additions = changing
    .filter(({ before }) => before === undefined)
    .map(({ step, revision }): Addition => ({ key: step.key, revision }));
  const admitting = additions.length > 0 ? room?.admit(additions, now) : undefined;
  const ticket = admitting instanceof Promise ? await admitting : admitting;
  let results: readonly CommitResult[] | undefined;
  try {
    results = await backend.commit([...writes, ...(ticket?.writes ?? [])], { now, limits: STORE_LIMITS });
  } finally {
    ticket?.settle(results?.slice(writes.length));
  }
  const after = new Map<Looked<T>, Current | undefined>();
  for (const [index, each] of changing.entries()) {
    const left = leftBy(results[index] as CommitResult);
    after.set(each, left);
    journal?.changed(each.step.key, each.before, left);
  }
  if (additions.length < changing.length) room?.freed();
  return looked.map((each) => each.decision.result(after.has(each) ? after.get(each) : each.before));
}

/** One change without a look at what is there: the engine applies it to whatever that is. `now` is the one of the mutations. */
export async function changeBlindly(
  { backend, namespace }: Ground,
  key: ByteString,
  mutations: readonly Mutation[],
  now: bigint,
): Promise<Current | undefined> {
  const write: RecordWrite = { record: recordOf(namespace, key), expect: 'any', mutations };
  const [result] = await backend.commit([write], { now, limits: STORE_LIMITS });
  return leftBy(result as CommitResult);
}

/** Whether every change of this store may be made blindly: nothing needs to know what was there. */
export function isBlind({ backend, room, journal }: Ground): boolean {
  return room === undefined && journal === undefined && backend.features.has('server_side_rebase');
}

function leftBy({ revision, values }: CommitResult): Current | undefined {
  const committed = values.get(VALUE);
  return committed && { value: committed.value, deadline: committed.deadline, revision };
}

/** A conflict of the engine's, and not the one that a caller's own condition met. */
function isEngines(conflict: WafStateError): boolean {
  return conflict.details.option !== 'ifVersion';
}

function exhausted(cause: WafStateError): WafStateError {
  return new WafStateError(
    'retry_limit_exceeded',
    `somebody else changed the entry in each of ${ATTEMPTS + 1} attempts; try again, or spread the load over more keys`,
    { details: { ...cause.details, limit: ATTEMPTS, actual: ATTEMPTS + 1 }, cause },
  );
}
