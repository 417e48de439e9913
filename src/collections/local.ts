import { type ByteString, compareBytes } from '../contract/bytes.js';
import { saturatingAdd } from '../contract/clock.js';
import { WafStateError } from '../contract/errors.js';
import type { Limits } from '../contract/limits.js';
import { parseInteger } from '../contract/variable.js';
import type { Checkpoint } from './checkpoint.js';

/** TX: what one transaction keeps for itself. Bounded like a record, by `limits.variables` and `limits.recordBytes`. */
export class LocalStore {
  readonly #limits: Limits;
  readonly #values = new Map<ByteString, ByteString>();
  #bytes = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get(name: ByteString): ByteString | undefined {
    return this.#values.get(name);
  }

  get size(): number {
    return this.#values.size;
  }

  /** In byte order of the names. */
  entries(): [name: ByteString, value: ByteString][] {
    return [...this.#values].sort((a, b) => compareBytes(a[0], b[0]));
  }

  /** Throws `capacity_exceeded`, and then nothing has changed. */
  set(name: ByteString, value: ByteString, mark: Checkpoint | undefined): void {
    const { variables, recordBytes } = this.#limits;
    const previous = this.#values.get(name);
    const bytes = this.#bytes + value.length + (previous === undefined ? name.length : -previous.length);
    if (previous === undefined && this.#values.size >= variables) {
      throw full('variables', variables, this.#values.size + 1);
    }
    if (bytes > recordBytes) throw full('recordBytes', recordBytes, bytes);
    mark?.remember(name, previous);
    this.#values.set(name, value);
    this.#bytes = bytes;
  }

  /** By the rules of a collection's add: what is missing or no number counts as 0. */
  add(name: ByteString, delta: bigint, saturates: boolean, mark: Checkpoint | undefined): void {
    const current = parseInteger(this.#values.get(name));
    const sum = saturatingAdd(current, delta);
    if (!saturates && sum !== current + delta) {
      throw new WafStateError('capacity_exceeded', 'the sum in tx is out of the range of 64 signed bits', {
        details: { space: 'tx', limit: sum, actual: current + delta },
      });
    }
    this.set(name, String(sum) as ByteString, mark);
  }

  remove(name: ByteString, mark: Checkpoint | undefined): void {
    const previous = this.#values.get(name);
    if (previous === undefined) return;
    mark?.remember(name, previous);
    this.#values.delete(name);
    this.#bytes -= name.length + previous.length;
  }

  /** Back to `values`, which were within the limits together. */
  restore(values: ReadonlyMap<ByteString, ByteString | undefined>): void {
    for (const [name, value] of values) {
      this.remove(name, undefined);
      if (value === undefined) continue;
      this.#values.set(name, value);
      this.#bytes += name.length + value.length;
    }
  }
}

function full(option: 'variables' | 'recordBytes', limit: number, actual: number): WafStateError {
  return new WafStateError(
    'capacity_exceeded',
    `tx would have ${actual} ${option === 'variables' ? 'variables' : 'bytes'}, the limit ${option} allows ${limit}; remove some or raise the limit`,
    { details: { space: 'tx', option, limit, actual } },
  );
}
