import { WafStateError } from '../contract/errors.js';
import type { Mutation } from '../contract/mutation.js';
import type { Snapshot } from '../contract/snapshot.js';
import { spaceName } from '../contract/space.js';
import { Binding } from './binding.js';
import { asFailure, deadlinePassed, mayPass } from './failure.js';
import { type Flushed, type FlushReport, failureOf, flushAll, flushAllAtOnce, passes } from './flush.js';
import { type Text, toKey } from './input.js';
import type { Settings } from './settings.js';

/** The collections that one transaction has bound, and the order of what it asked of them. */
export class Bindings {
  readonly #settings: Settings;
  readonly #deadline: bigint | undefined;
  /** By space; 0 is not in use. */
  readonly #bound: (Binding | undefined)[] = [
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ];
  /** Whose the pending mutations are, over all collections: what a rollback walks back along. */
  #order: Binding[] = [];
  /** Mutations of a flush under way; they still count against the limit, since they may come back. */
  #inFlight = 0;
  #flushing: Promise<Flushed> | undefined = undefined;
  #epoch = 0;
  #failures: Map<number, WafStateError> | undefined = undefined;
  #closed = false;

  constructor(settings: Settings, deadline: bigint | undefined) {
    this.#settings = settings;
    this.#deadline = deadline;
  }

  /** Mutations that wait for a flush. */
  get pending(): number {
    return this.#order.length;
  }

  /** Changes whenever mutations leave the order by other ways than a rollback. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Bit n: space n is bound. */
  get mask(): number {
    let mask = 0;
    for (let space = 1; space < this.#bound.length; space++) {
      if (this.#bound[space] !== undefined) mask |= 1 << space;
    }
    return mask;
  }

  async bind(space: number, key: Text): Promise<void> {
    const binding = this.#place(space, key);
    binding.loading ??= binding.ready ? undefined : this.#load(binding);
    await binding.loading;
  }

  bindSync(space: number, key: Text): void {
    const { backend, clock, limits } = this.#settings;
    if (backend.loadSync === undefined) {
      throw new WafStateError(
        'missing_feature',
        `backend ${backend.name} lacks synchronous_load; await bind() instead`,
        { details: { option: 'synchronous_load' } },
      );
    }
    const binding = this.#place(space, key);
    if (binding.ready) return;
    if (binding.loading !== undefined) throw notReady(space);
    let snapshot: Snapshot;
    try {
      this.#assertInTime();
      snapshot = backend.loadSync(binding.record, clock.now(), limits);
    } catch (error) {
      this.#loadFailed(binding, error);
      return;
    }
    binding.loaded(snapshot);
  }

  /** Throws `not_initialized` or `closed`. */
  get(space: number): Binding {
    const binding = this.#bound[space];
    if (this.#closed) throw closed();
    if (binding === undefined) {
      throw new WafStateError(
        'not_initialized',
        `the ${spaceName(space)} collection is not bound in this transaction; bind it to a key first`,
        { details: { space: spaceName(space) } },
      );
    }
    if (!binding.ready) throw notReady(space);
    return binding;
  }

  isReady(space: number): boolean {
    return this.#bound[space]?.ready === true;
  }

  /** Throws `capacity_exceeded` past `limits.mutations`, and then nothing has changed. */
  append(binding: Binding, mutation: Mutation): void {
    const { mutations } = this.#settings.limits;
    if (this.#order.length + this.#inFlight >= mutations) {
      throw new WafStateError(
        'capacity_exceeded',
        `the transaction has ${mutations} mutations, as many as the limit mutations allows; flush before more, or raise the limit`,
        {
          details: {
            space: binding.collection,
            option: 'mutations',
            limit: mutations,
            actual: mutations + 1,
          },
        },
      );
    }
    binding.log.push(mutation);
    this.#order.push(binding);
  }

  /** Back to `pending` mutations and to the bindings of `mask`. */
  rollback(pending: number, mask: number): void {
    while (this.#order.length > pending) this.#order.pop()?.undo();
    for (let space = 1; space < this.#bound.length; space++) {
      if ((mask & (1 << space)) === 0) this.#bound[space] = undefined;
    }
  }

  async flush(rebase: boolean): Promise<Flushed> {
    // How the flush under way ends, its own caller hears.
    while (this.#flushing !== undefined) await Promise.allSettled([this.#flushing]);
    this.assertOpen();
    if (this.#order.length === 0) return {};
    if (rebase && this.#settings.commitsAtOnce) {
      const order = this.#takeOrder();
      return this.#conclude(flushAllAtOnce(this.#dirty(), this.#settings, this.#deadline), order, rebase);
    }
    const flushing = this.#send(rebase);
    this.#flushing = flushing;
    try {
      return await flushing;
    } finally {
      if (this.#flushing === flushing) this.#flushing = undefined;
    }
  }

  failure(space: number | undefined): WafStateError | undefined {
    if (this.#failures === undefined) return undefined;
    return space === undefined ? [...this.#failures.values()].at(-1) : this.#failures.get(space);
  }

  close(): void {
    this.#closed = true;
  }

  assertOpen(): void {
    if (this.#closed) throw closed();
  }

  /** The binding of this key: a new one, or the very one that is there already. */
  #place(space: number, key: Text): Binding {
    this.assertOpen();
    const bytes = toKey(key, this.#settings.limits, space);
    const bound = this.#bound[space];
    if (bound === undefined) {
      const binding = new Binding(space, bytes, this.#settings);
      this.#bound[space] = binding;
      return binding;
    }
    if (bound.key === bytes) return bound;
    throw new WafStateError(
      'already_bound',
      `the ${spaceName(space)} collection is bound to another key; each collection binds once in a transaction`,
      { details: { space: spaceName(space) } },
    );
  }

  async #load(binding: Binding): Promise<void> {
    const { backend, clock, limits } = this.#settings;
    let snapshot: Snapshot;
    try {
      this.#assertInTime();
      snapshot = await backend.load(binding.record, clock.now(), limits);
    } catch (error) {
      this.#loadFailed(binding, error);
      return;
    } finally {
      binding.loading = undefined;
    }
    this.#assertStillThere(binding);
    binding.loaded(snapshot);
  }

  #loadFailed(binding: Binding, error: unknown): void {
    const { space } = binding.record;
    const failure = asFailure(error, this.#settings.backend.name);
    this.#note(space, failure);
    if (this.#settings.failOpen && mayPass(failure)) {
      this.#assertStillThere(binding);
      binding.degraded(failure);
      return;
    }
    if (this.#bound[space] === binding) this.#bound[space] = undefined;
    throw failure;
  }

  #assertStillThere(binding: Binding): void {
    this.assertOpen();
    if (this.#bound[binding.record.space] === binding) return;
    throw new WafStateError(
      'not_initialized',
      `a rollback undid the binding of the ${binding.collection} collection while it was loading`,
      { details: { space: binding.collection } },
    );
  }

  #assertInTime(): void {
    if (this.#deadline !== undefined && this.#deadline <= this.#settings.clock.now()) {
      throw deadlinePassed('the record was loaded');
    }
  }

  async #send(rebase: boolean): Promise<Flushed> {
    const order = this.#takeOrder();
    const report = await flushAll(this.#dirty(), this.#settings, this.#deadline, rebase);
    return this.#conclude(report, order, rebase);
  }

  #takeOrder(): readonly Binding[] {
    const order = this.#order;
    this.#order = [];
    this.#inFlight = order.length;
    this.#epoch++;
    return order;
  }

  #dirty(): Binding[] {
    const dirty: Binding[] = [];
    for (let space = 1; space < this.#bound.length; space++) {
      const binding = this.#bound[space];
      if (binding !== undefined && binding.log.length > 0) dirty.push(binding);
    }
    return dirty;
  }

  /** What a flush of `order` came to. Throws for what the failure policy does not let pass. */
  #conclude(report: FlushReport, order: readonly Binding[], rebase: boolean): Flushed {
    this.#inFlight = 0;
    if (report.failures.length === 0) return report.flushed;
    const kept = new Set<Binding>();
    for (const { binding, error, outcome } of report.failures) {
      this.#note(binding.record.space, error);
      if (outcome !== 'unknown') kept.add(binding);
    }
    // A mark made during the flush has counted without these.
    this.#epoch++;
    this.#order = order.filter((binding) => kept.has(binding)).concat(this.#order);
    if (passes(report.failures, this.#settings, rebase)) return report.flushed;
    throw failureOf(report);
  }

  #note(space: number, failure: WafStateError): void {
    this.#failures ??= new Map();
    // The newest stands last.
    this.#failures.delete(space);
    this.#failures.set(space, failure);
  }
}

function notReady(space: number): WafStateError {
  return new WafStateError(
    'not_initialized',
    `the ${spaceName(space)} collection is still being loaded; await bind() before it is used`,
    { details: { space: spaceName(space) } },
  );
}

function closed(): WafStateError {
  return new WafStateError('closed', 'the transaction is closed; begin another');
}
