import type { CommitResult } from '../contract/backend.js';
import { decodeText } from '../contract/bytes.js';
import { type Outcome, WafStateError } from '../contract/errors.js';
import type { CollectionName } from '../contract/space.js';
import type { Binding } from './binding.js';
import { asFailure, mayPass, outcomeOf } from './failure.js';
import { publish, publishAtOnce } from './publish.js';
import type { Settings } from './settings.js';

export interface FlushOptions {
  /**
   * What to do where others have written since the bind. `rebase` (default): put this log on top of theirs. `reject`: the flush
   * rejects with `conflict`, under every failure policy, and the log stays.
   */
  readonly onConflict?: 'rebase' | 'reject' | undefined;
}

/** What a flush made of one collection. */
export class FlushedCollection {
  /** The record's new revision; 0: the flush has removed the record. */
  readonly revision: number;
  readonly #result: CommitResult;
  #values: ReadonlyMap<string, string | undefined> | undefined = undefined;

  constructor(result: CommitResult) {
    this.revision = result.revision;
    this.#result = result;
  }

  /** Every variable that the flush touched, as it left it, in the order of first touch; `undefined` = not visible. */
  get values(): ReadonlyMap<string, string | undefined> {
    if (this.#values === undefined) {
      const values = new Map<string, string | undefined>();
      for (const [name, committed] of this.#result.values) {
        values.set(decodeText(name), committed === undefined ? undefined : decodeText(committed.value));
      }
      this.#values = values;
    }
    return this.#values;
  }
}

/** By collection, those that were dirty and are stored now. */
export type Flushed = { readonly [Name in CollectionName]?: FlushedCollection };

/** A collection whose log was not stored, or perhaps not. */
export interface FlushFailure {
  readonly binding: Binding;
  readonly error: WafStateError;
  readonly outcome: Outcome;
}

export interface FlushReport {
  readonly flushed: Flushed;
  readonly failures: readonly FlushFailure[];
}

/**
 * Publishes every log, together where the engine can, else side by side, and leaves out what cannot be stored: only a
 * removal goes over a record that cannot be read. Never rejects.
 */
export async function flushAll(
  dirty: readonly Binding[],
  settings: Settings,
  deadline: bigint | undefined,
  rebase: boolean,
): Promise<FlushReport> {
  const flushed: { [Name in CollectionName]?: FlushedCollection } = {};
  const { sendable, failures: unsendable } = sort(dirty);
  const failures = [...unsendable];
  const groups = settings.commitsTogether ? [sendable] : sendable.map((binding) => [binding]);
  const attempts = await Promise.all(groups.map((group) => attempt(group, settings, deadline, rebase)));
  for (const [index, group] of groups.entries()) {
    const results = attempts[index] as Attempt;
    for (const [position, binding] of group.entries()) {
      if (results instanceof WafStateError) {
        failures.push({ binding, error: results, outcome: outcomeOf(results) });
      } else {
        flushed[binding.collection] = new FlushedCollection(results[position] as CommitResult);
      }
    }
  }
  return { flushed, failures };
}

/** The same at once, for a flush that rebases on an engine that `commitsAtOnce`. */
export function flushAllAtOnce(
  dirty: readonly Binding[],
  settings: Settings,
  deadline: bigint | undefined,
): FlushReport {
  const { sendable, failures } = sort(dirty);
  const flushed: { [Name in CollectionName]?: FlushedCollection } = {};
  if (sendable.length === 0) return { flushed, failures };
  try {
    const results = publishAtOnce(sendable, settings, deadline);
    for (let index = 0; index < sendable.length; index++) {
      const { collection } = sendable[index] as Binding;
      flushed[collection] = new FlushedCollection(results[index] as CommitResult);
    }
    return { flushed, failures };
  } catch (error) {
    const failure = asFailure(error, settings.backend.name);
    const outcome = outcomeOf(failure);
    return {
      flushed,
      failures: [...failures, ...sendable.map((binding) => ({ binding, error: failure, outcome }))],
    };
  }
}

interface Sorted {
  readonly sendable: readonly Binding[];
  readonly failures: readonly FlushFailure[];
}

/** Takes out what cannot be stored: a log on a record that cannot be read. */
function sort(dirty: readonly Binding[]): Sorted {
  let isWhole = true;
  for (let index = 0; index < dirty.length; index++) {
    const binding = dirty[index] as Binding;
    isWhole &&= binding.failure?.kind !== 'corrupt' || mends(binding);
  }
  if (isWhole) return { sendable: dirty, failures: NO_FAILURES };
  const sendable: Binding[] = [];
  const failures: FlushFailure[] = [];
  for (const binding of dirty) {
    const error = binding.failure;
    if (error?.kind !== 'corrupt' || mends(binding)) sendable.push(binding);
    else failures.push({ binding, error, outcome: 'not_applied' });
  }
  return { sendable, failures };
}

const NO_FAILURES: readonly FlushFailure[] = [];

type Attempt = readonly CommitResult[] | WafStateError;

async function attempt(
  group: readonly Binding[],
  settings: Settings,
  deadline: bigint | undefined,
  rebase: boolean,
): Promise<Attempt> {
  if (group.length === 0) return [];
  try {
    return await publish(group, settings, deadline, rebase);
  } catch (error) {
    return asFailure(error, settings.backend.name);
  }
}

function mends(binding: Binding): boolean {
  return binding.log[0]?.type === 'removeRecord';
}

/** Whether the request may go on as if nothing had happened. */
export function passes(failures: readonly FlushFailure[], settings: Settings, rebase: boolean): boolean {
  if (failures.length === 0) return true;
  if (!settings.failOpen) return false;
  // Who asks for conflicts has a use for them, so the policy does not take them away.
  return failures.every(({ error }) => mayPass(error) && (rebase || error.code !== 'conflict'));
}

/** One error for all that failed: the first failure, with the fate of every collection where there were several. */
export function failureOf({ flushed, failures }: FlushReport): WafStateError {
  const first = (failures[0] as FlushFailure).error;
  const applied = Object.keys(flushed);
  if (failures.length + applied.length === 1) return first;
  const collections: Record<string, Outcome> = {};
  for (const name of applied) collections[name] = 'applied';
  for (const { binding, outcome } of failures) collections[binding.collection] = outcome;
  const fates = Object.entries(collections).map(([name, outcome]) => `${name} ${outcome}`);
  return new WafStateError(first.code, `${first.message} (${fates.join(', ')})`, {
    details: { ...first.details, collections },
    cause: first,
    ...(first.settled !== undefined && { settled: first.settled }),
  });
}
