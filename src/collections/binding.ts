import type { CommitResult, Expectation } from '../contract/backend.js';
import { type ByteString, compareBytes, decodeText } from '../contract/bytes.js';
import { saturatingAdd } from '../contract/clock.js';
import type { WafStateError } from '../contract/errors.js';
import type { Limits } from '../contract/limits.js';
import type { Mutation } from '../contract/mutation.js';
import { ABSENT, type RecordFacts, type Snapshot, type Variable } from '../contract/snapshot.js';
import { type CollectionName, type RecordName, spaceName } from '../contract/space.js';
import { applyToVariable, isExpired, isVisible, OVERFLOW } from '../contract/variable.js';
import { type CollectionFacts, updateRate } from './facts.js';
import type { Settings } from './settings.js';

const NO_MUTATIONS: readonly Mutation[] = [];

/** What a flush made of this collection, kept until someone reads on. */
interface Publication {
  readonly result: CommitResult;
  readonly mutations: readonly Mutation[];
  readonly now: bigint;
}

/**
 * One collection of one transaction: the snapshot it was bound to, the log of what was asked for since, and the view that
 * a reader has of both.
 *
 * The view is the snapshot with the log applied at the time of the read, as a commit at that moment would apply it. It
 * grows with the log, and begins anew when the time has changed: a deadline that passes between two reads also changes
 * what an earlier mutation has to leave.
 */
export class Binding {
  /** As the caller gave it. */
  readonly key: ByteString;
  /** As the engine has it: by the key itself, or by its digest. */
  readonly record: RecordName;
  readonly collection: CollectionName;
  /** The default sliding timeout, nanoseconds: what a new record gets. */
  readonly timeout: bigint | undefined;
  /** There is a snapshot; nothing may use the binding before. */
  ready = false;
  /** While `bind` waits for the engine. */
  loading: Promise<void> | undefined = undefined;
  /** Why the snapshot is degraded: empty because it could not be loaded. */
  failure: WafStateError | undefined = undefined;
  /** What the next flush sends. */
  log: Mutation[] = [];
  /** What a flush under way has sent: before the log, and no longer to be undone. */
  sent: readonly Mutation[] = NO_MUTATIONS;

  #snapshot: Snapshot = ABSENT;
  #publication: Publication | undefined = undefined;

  #viewedAt: bigint | undefined = undefined;
  /** Mutations that are in the view: the first of `sent` and `log` together. */
  #applied = 0;
  #overlay: Map<ByteString, Variable | undefined> | undefined = undefined;
  /** The log has removed the record: nothing of the snapshot shines through. */
  #erased = false;
  #viewedTimeout: bigint | undefined = undefined;
  /** Of the view, once somebody asked: how many variables that are not expired, and the bytes of their names and values. */
  #totals: { count: number; bytes: number } | undefined = undefined;

  constructor(space: number, key: ByteString, settings: Settings) {
    this.key = key;
    this.record = recordOf(space, key, settings);
    this.collection = spaceName(space) as CollectionName;
    this.timeout = settings.timeouts[space];
  }

  /** What a commit under optimistic revisions expects. */
  get expectation(): Expectation {
    this.#settle();
    return this.#snapshot.revision === 0 ? 'absent' : this.#snapshot.revision;
  }

  /** Takes what the engine has; the log stays and counts on top of it. */
  loaded(snapshot: Snapshot): void {
    this.ready = true;
    this.#snapshot = snapshot;
    this.#publication = undefined;
    this.failure = undefined;
    this.#forgetView();
  }

  degraded(failure: WafStateError): void {
    this.loaded(ABSENT);
    this.failure = failure;
  }

  /** Hands the log to a flush. */
  send(): readonly Mutation[] {
    this.#settle();
    this.sent = this.log;
    this.log = [];
    return this.sent;
  }

  /** The flush was acknowledged. What that makes of the snapshot is worked out when somebody asks. */
  published(result: CommitResult, now: bigint): void {
    this.#publication = { result, mutations: this.sent, now };
    this.sent = NO_MUTATIONS;
    this.failure = undefined;
    this.#forgetView();
  }

  /** Nothing of it was stored: all of it waits for the next flush again. */
  refused(): void {
    this.log = this.sent.concat(this.log);
    this.sent = NO_MUTATIONS;
  }

  /** Nobody knows whether it was stored: never sent again, yet its author goes on seeing what he did. */
  lost(now: bigint): void {
    const later = this.log;
    this.log = [];
    this.#forgetView();
    this.#view(now);
    const variables = new Map(this.#base(now));
    this.#overlayOnto(variables);
    const live = this.#erased ? undefined : this.#liveFacts(now);
    const revision = live === undefined ? 0 : this.#snapshot.revision;
    const facts = live === undefined ? undefined : { ...live, timeout: this.#viewedTimeout };
    this.#snapshot = { revision, facts, variables };
    this.sent = NO_MUTATIONS;
    this.log = later;
    this.#forgetView();
  }

  /** Takes the newest mutation back. */
  undo(): void {
    this.log.pop();
    if (this.#applied > this.sent.length + this.log.length) this.#forgetView();
  }

  /** The value that a reader at `now` sees. */
  value(name: ByteString, clock: { now(): bigint }): ByteString | undefined {
    if (this.#isPristine()) {
      const variable = this.#snapshot.variables.get(name);
      if (variable === undefined) return undefined;
      if (variable.deadline === undefined && this.#snapshot.facts?.timeout === undefined) {
        return variable.value;
      }
    }
    const now = clock.now();
    this.#view(now);
    const variable = this.#viewed(name, now);
    return variable !== undefined && isVisible(variable, now) ? variable.value : undefined;
  }

  /** Every visible variable, in byte order of the names. */
  entries(now: bigint): [name: ByteString, value: ByteString][] {
    return this.#visible(now).sort(byName);
  }

  count(now: bigint): number {
    return this.#visible(now).length;
  }

  /** Whether the record, as this transaction sees it, would stay within the limits with `bytes` bytes of value in `name`. */
  hasRoom(name: ByteString, bytes: number, now: bigint, limits: Limits): boolean {
    this.#view(now);
    this.#totals ??= this.#countAll(now);
    const { count, bytes: held } = this.#totals;
    const variable = this.#viewed(name, now);
    if (variable === undefined || isExpired(variable, now)) {
      return count < limits.variables && held + name.length + bytes <= limits.recordBytes;
    }
    return held + bytes - (variable.value?.length ?? 0) <= limits.recordBytes;
  }

  facts(now: bigint): CollectionFacts {
    this.#view(now);
    const stored = this.#erased ? undefined : this.#liveFacts(now);
    return {
      key: decodeText(this.key),
      revision: stored === undefined ? 0 : this.#snapshot.revision,
      isNew: stored === undefined && this.failure === undefined,
      createTime: stored?.created ?? now,
      lastUpdateTime: stored?.updated,
      updateCounter: stored?.updateCount ?? 0,
      updateRate: updateRate(stored, now),
      timeout: this.#viewedTimeout,
      degraded: this.failure !== undefined,
    };
  }

  #visible(now: bigint): [ByteString, ByteString][] {
    this.#view(now);
    const overlay = this.#overlay;
    const visible: [ByteString, ByteString][] = [];
    for (const [name, variable] of this.#base(now)) {
      if (isVisible(variable, now) && !overlay?.has(name)) visible.push([name, variable.value as ByteString]);
    }
    if (overlay !== undefined) {
      for (const [name, variable] of overlay) {
        if (variable !== undefined && isVisible(variable, now)) {
          visible.push([name, variable.value as ByteString]);
        }
      }
    }
    return visible;
  }

  #countAll(now: bigint): { count: number; bytes: number } {
    const overlay = this.#overlay;
    const totals = { count: 0, bytes: 0 };
    for (const [name, variable] of this.#base(now)) {
      if (!overlay?.has(name)) tally(totals, name, variable, now, 1);
    }
    for (const [name, variable] of overlay ?? []) tally(totals, name, variable, now, 1);
    return totals;
  }

  #viewed(name: ByteString, now: bigint): Variable | undefined {
    const overlay = this.#overlay;
    return overlay?.has(name) ? overlay.get(name) : this.#base(now).get(name);
  }

  #isPristine(): boolean {
    return this.log.length === 0 && this.sent.length === 0 && this.#publication === undefined;
  }

  /** What the snapshot has for a reader at `now`, before the log. */
  #base(now: bigint): ReadonlyMap<ByteString, Variable> {
    return this.#erased || this.#isTimedOut(now) ? ABSENT.variables : this.#snapshot.variables;
  }

  #isTimedOut(now: bigint): boolean {
    const { facts } = this.#snapshot;
    return facts?.timeout !== undefined && saturatingAdd(facts.updated, facts.timeout) <= now;
  }

  /** A record that is timed out counts as absent. */
  #liveFacts(now: bigint): RecordFacts | undefined {
    return this.#isTimedOut(now) ? undefined : this.#snapshot.facts;
  }

  #forgetView(): void {
    this.#applied = 0;
    this.#overlay = undefined;
    this.#erased = false;
    this.#viewedAt = undefined;
    this.#totals = undefined;
  }

  /** Brings the view to `now` and to the end of the log. */
  #view(now: bigint): void {
    this.#settle();
    if (now !== this.#viewedAt) {
      this.#forgetView();
      this.#viewedAt = now;
      const live = this.#liveFacts(now);
      this.#viewedTimeout = live === undefined ? this.timeout : live.timeout;
    }
    const sent = this.sent.length;
    const end = sent + this.log.length;
    for (; this.#applied < end; this.#applied++) {
      const at = this.#applied;
      this.#apply((at < sent ? this.sent[at] : this.log[at - sent]) as Mutation, now);
    }
  }

  #apply(mutation: Mutation, now: bigint): void {
    if (mutation.type === 'timeout') {
      this.#viewedTimeout = mutation.duration;
      return;
    }
    if (mutation.type === 'removeRecord') {
      this.#overlay = undefined;
      this.#erased = true;
      this.#viewedTimeout = this.timeout;
      this.#totals = undefined;
      return;
    }
    const { name } = mutation;
    const before = this.#viewed(name, now);
    const next = applyToVariable(before, mutation, now);
    // The flush will be refused for it; until then a reader sees what was there before.
    if (next === OVERFLOW) return;
    if (this.#totals !== undefined) {
      tally(this.#totals, name, before, now, -1);
      tally(this.#totals, name, next, now, 1);
    }
    this.#overlay ??= new Map();
    this.#overlay.set(name, next);
  }

  #overlayOnto(variables: Map<ByteString, Variable>): void {
    if (this.#overlay === undefined) return;
    for (const [name, variable] of this.#overlay) {
      if (variable === undefined) variables.delete(name);
      else variables.set(name, variable);
    }
  }

  /**
   * Makes the last publication part of the snapshot. Values and deadlines are the engine's. It does not tell the decay clocks:
   * those are what the log makes of the old snapshot, exact unless others wrote in between.
   */
  #settle(): void {
    const publication = this.#publication;
    if (publication === undefined) return;
    this.#publication = undefined;
    const { result, mutations, now } = publication;
    // Somebody had removed it, or its timeout had passed: what was stored is a new record.
    if (result.revision === 0 || !result.existed) this.#snapshot = ABSENT;
    if (result.revision === 0) return;
    const later = this.log;
    this.log = mutations as Mutation[];
    this.#forgetView();
    this.#view(now);
    const previous = this.#erased ? undefined : this.#liveFacts(now);
    const variables = new Map(this.#base(now));
    this.#overlayOnto(variables);
    for (const [name, committed] of result.values) {
      const own = variables.get(name);
      if (committed !== undefined) {
        variables.set(name, {
          value: committed.value,
          deadline: committed.deadline,
          clock: own?.clock ?? now,
        });
      } else {
        variables.delete(name);
      }
    }
    this.#snapshot = {
      revision: result.revision,
      facts: {
        created: previous?.created ?? now,
        updated: previous !== undefined && previous.updated > now ? previous.updated : now,
        updateCount: (previous?.updateCount ?? 0) + 1,
        timeout: this.#viewedTimeout,
      },
      variables,
    };
    this.log = later;
    this.#forgetView();
  }
}

/** The record of a key, named by the key itself or by its digest. */
export function recordOf(
  space: number,
  key: ByteString,
  { applicationId, keyDigests }: Settings,
): RecordName {
  return { space, applicationId, key: keyDigests[space]?.of(space, applicationId, key) ?? key };
}

/** Adds or takes one variable as the limits count it: also where it is only a deadline. */
function tally(
  totals: { count: number; bytes: number },
  name: ByteString,
  variable: Variable | undefined,
  now: bigint,
  sign: 1 | -1,
): void {
  if (variable === undefined || isExpired(variable, now)) return;
  totals.count += sign;
  totals.bytes += sign * (name.length + (variable.value?.length ?? 0));
}

function byName(a: readonly [ByteString, ByteString], b: readonly [ByteString, ByteString]): number {
  return compareBytes(a[0], b[0]);
}
