import { setTimeout as sleep } from 'node:timers/promises';
import type { Backend, CommitResult, Expectation, RecordWrite } from '../contract/backend.js';
import { WafStateError } from '../contract/errors.js';
import type { Binding } from './binding.js';
import { asFailure, deadlinePassed, outcomeOf } from './failure.js';
import type { Settings } from './settings.js';

/** Longest mean wait between two attempts, milliseconds. */
const MAX_BACK_OFF = 64;

/**
 * Publishes the logs of `bindings` in one commit, which several need `multi_record_atomicity` for. With `rebase`, a conflict
 * makes it load again what is there now and put the logs on top, up to `limits.retryAttempts` times; the logs are
 * blind operations, so that is the same as having begun later.
 *
 * The logs are sent by the first attempt on; afterwards each binding is published, or has its log back, or, where
 * nobody knows, has lost it. Throws a `WafStateError`.
 */
export async function publish(
  bindings: readonly Binding[],
  settings: Settings,
  deadline: bigint | undefined,
  rebase: boolean,
): Promise<readonly CommitResult[]> {
  for (const binding of bindings) binding.send();
  let conflict: WafStateError | undefined;
  for (let attempt = 0; ; attempt++) {
    try {
      if (attempt > 0) await backOff(attempt, settings, deadline, conflict);
      return await commit(bindings, settings, deadline, rebase, conflict);
    } catch (error) {
      const failure = asFailure(error, settings.backend.name);
      if (rebase && failure.code === 'conflict' && attempt < settings.limits.retryAttempts) {
        conflict = failure;
        continue;
      }
      settle(bindings, failure, settings);
      throw rebase && failure.code === 'conflict' ? exhausted(bindings, attempt, failure) : failure;
    }
  }
}

/**
 * `publish` with `rebase` on an engine that `commitsAtOnce`: there is no conflict, so nothing to wait for. REQUIRES: no binding
 * is degraded by a corrupt record, unless it begins with the record's removal.
 */
export function publishAtOnce(
  bindings: readonly Binding[],
  settings: Settings,
  deadline: bigint | undefined,
): readonly CommitResult[] {
  const { backend, clock, limits } = settings;
  const writes: RecordWrite[] = [];
  for (let index = 0; index < bindings.length; index++) {
    const { record, timeout } = bindings[index] as Binding;
    writes.push({ record, expect: 'any', timeout, mutations: (bindings[index] as Binding).send() });
  }
  try {
    const now = clock.now();
    if (deadline !== undefined && deadline <= now) throw deadlinePassed('the flush was sent');
    const results = (backend as Required<Backend>).commitSync(writes, {
      now,
      deadline: settings.keepsDeadlines ? deadline : undefined,
      limits,
    });
    acknowledge(bindings, results, now);
    return results;
  } catch (error) {
    const failure = asFailure(error, backend.name);
    settle(bindings, failure, settings);
    throw failure;
  }
}

function acknowledge(bindings: readonly Binding[], results: readonly CommitResult[], now: bigint): void {
  if (results.length !== bindings.length) {
    throw new TypeError(`${results.length} results for ${bindings.length} writes`);
  }
  for (let index = 0; index < bindings.length; index++) {
    (bindings[index] as Binding).published(results[index] as CommitResult, now);
  }
}

async function commit(
  bindings: readonly Binding[],
  settings: Settings,
  deadline: bigint | undefined,
  rebase: boolean,
  conflict: WafStateError | undefined,
): Promise<readonly CommitResult[]> {
  const { backend, clock, limits } = settings;
  const writes: RecordWrite[] = [];
  for (const binding of bindings) {
    let expect: Expectation = 'any';
    if (!settings.rebasesServerSide || (!rebase && binding.failure === undefined)) {
      if (conflict !== undefined || binding.failure !== undefined || !binding.ready) {
        await reload(binding, settings);
      }
      expect = binding.expectation;
    }
    writes.push({ record: binding.record, expect, timeout: binding.timeout, mutations: binding.sent });
  }
  const now = clock.now();
  if (deadline !== undefined && deadline <= now) throw deadlinePassed('the flush was sent', conflict);
  const results = await backend.commit(writes, {
    now,
    deadline: settings.keepsDeadlines ? deadline : undefined,
    limits,
  });
  acknowledge(bindings, results, now);
  return results;
}

/** A load that fails has sent nothing, whatever it failed with. */
async function reload(binding: Binding, settings: Settings): Promise<void> {
  const { backend, clock, limits } = settings;
  try {
    binding.loaded(await backend.load(binding.record, clock.now(), limits));
  } catch (error) {
    const failure = asFailure(error, backend.name);
    throw new WafStateError(failure.code, failure.message, {
      details: { ...failure.details, outcome: 'not_sent' },
      cause: failure,
    });
  }
}

function settle(bindings: readonly Binding[], failure: WafStateError, settings: Settings): void {
  if (outcomeOf(failure) === 'unknown') {
    const now = settings.clock.now();
    for (const binding of bindings) binding.lost(now);
  } else {
    for (const binding of bindings) binding.refused();
  }
}

/** Jittered, so that those who met once do not meet again; doubling, so that a crowd spreads out. */
async function backOff(
  attempt: number,
  settings: Settings,
  deadline: bigint | undefined,
  conflict: WafStateError | undefined,
): Promise<void> {
  const milliseconds = Math.random() * Math.min(2 ** attempt, 2 * MAX_BACK_OFF);
  if (deadline !== undefined) {
    const ready = settings.clock.now() + BigInt(Math.ceil(milliseconds * 1e6));
    if (ready >= deadline) throw deadlinePassed('another attempt could be made', conflict);
  }
  await sleep(milliseconds);
}

function exhausted(bindings: readonly Binding[], attempts: number, conflict: WafStateError): WafStateError {
  const names = bindings.map((binding) => binding.collection).join(', ');
  return new WafStateError(
    'retry_limit_exceeded',
    `the flush of ${names} met a conflict ${attempts + 1} times, the limit retryAttempts allows ${attempts} more attempts; try again, or raise the limit`,
    {
      details: { ...conflict.details, option: 'retryAttempts', limit: attempts, actual: attempts + 1 },
      cause: conflict,
    },
  );
}
