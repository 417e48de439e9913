import type { Clock } from '../../contract/clock.js';
import { WafStateError } from '../../contract/errors.js';
import { parseDuration } from '../../store/config/duration.js';
import {
  checkStores,
  type ListOptions,
  loadStores,
  type PutOptions,
  type SetOptions,
  type Store,
  type StoreRegistry,
  type StoreValue,
} from '../../store/index.js';
import { type Fields, type StoreCase, type StoreStep, toSteps } from './case-file.js';
import { mismatch } from './expectation.js';
import type { StoreSubject } from './subject.js';

/** Where the clock of a case begins: in the year 2027. */
const START = 1_800_000_000_000_000_000n;
const MILLISECOND = 1_000_000n;

const NAMESPACE = 'db';

/** What every step of a case has given so far, by the name it was saved under. */
type Saved = Map<string, Fields>;

/** Runs cases, one after the other, on stores of one kind. The engine below them is opened once. */
export class StoreCases implements Clock {
  readonly #subject: StoreSubject;
  readonly #saved: Saved = new Map();
  #time = START;
  #stores: StoreRegistry | undefined;
  #store: Store | undefined;
  #count = 0;
  #anchor: Fields = {};

  constructor(subject: StoreSubject) {
    this.#subject = subject;
  }

  now(): bigint {
    return this.#time;
  }

  /** On a fresh, empty store. Resolves to what failed, or undefined. Rejects where the case cannot be run. */
  async run({ steps }: StoreCase): Promise<string | undefined> {
    this.#saved.clear();
    await this.#open({});
    return this.#steps(steps, '');
  }

  async close(): Promise<void> {
    await this.#stores?.close();
    this.#subject.close();
  }

  /** The store of the case before is removed. */
  async #open(fields: Fields): Promise<void> {
    const { kind, fresh } = this.#subject;
    const start = { kind, lifecycle: { auto_start: true } };
    if (this.#stores === undefined) {
      // Runs as long as the cases do, so that the engine stays open between them.
      this.#anchor = { ...start, name: 'anchor', ...fresh() };
      this.#stores = await loadStores(this.#document([]), { clock: this });
    }
    const name = `case-${++this.#count}`;
    await this.#stores.reconfigure(this.#document([{ ...start, name, ...fresh(), ...fields }]));
    this.#store = await this.#stores.open(`${NAMESPACE}:${name}`);
  }

  /** What failed, with its place; undefined where nothing did. */
  async #steps(steps: readonly StoreStep[], where: string): Promise<string | undefined> {
    for (const [index, step] of steps.entries()) {
      this.#time += MILLISECOND;
      const problem = await this.#step(step, `${where}${index + 1}.`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  async #step(step: StoreStep, place: string): Promise<string | undefined> {
    if (step.op === 'loop') return this.#loop(step, place);
    const fail = (problem: string): string => `step ${place} ${step.op}: ${problem}`;
    const expect = this.#filled(step.expect) as Fields;
    let result: Fields;
    try {
      result = await this.#perform(step.op, this.#filled(step.args) as Fields);
    } catch (error) {
      if (!(error instanceof WafStateError)) throw error;
      if (expect['error'] === undefined) return fail(`${error.code}: ${error.message}`);
      const actual = { error: error.kind.toUpperCase(), retryable: error.retryable };
      const problem = mismatch(expect, actual, 'the error');
      return problem && fail(problem);
    }
    if (step.save !== undefined) this.#saved.set(step.save, (result['entry'] ?? result) as Fields);
    const { ok, ...wanted } = expect;
    if (wanted['error'] !== undefined) return fail(`must be refused as ${String(wanted['error'])}`);
    if (ok !== undefined && ok !== true) return fail('expect.ok can only be true');
    const problem = mismatch(wanted, result);
    return problem && fail(problem);
  }

  async #loop({ args, expect }: StoreStep, place: string): Promise<string | undefined> {
    const { count, var: name, steps } = args;
    if (typeof count !== 'number' || typeof name !== 'string') {
      return `step ${place} loop: count must be a number and var text`;
    }
    if (mismatch(expect, { ok: true }) !== undefined)
      return `step ${place} loop: it can only be expected to be ok`;
    for (let turn = 0; turn < count; turn++) {
      const repeated = replaced(steps, `$${name}`, String(turn));
      const problem = await this.#steps(toSteps(repeated, `step ${place}`), `${place}`);
      if (problem !== undefined) return `${problem} (turn ${turn})`;
    }
    return undefined;
  }

  /** The result in the words of the case files. */
  async #perform(op: string, args: Fields): Promise<Fields> {
    const { key, value, ...rest } = args;
    const name = key as string;
    switch (op) {
      case 'open':
        await this.#open(args);
        return {};
      case 'config':
        return { config: this.#config(args) };
      case 'sleep':
        this.#time += BigInt(requireNumber(args, 'ms')) * MILLISECOND;
        return {};
      case 'set':
        return { value: await this.#opened().set(name, value as StoreValue, camelCased(rest) as SetOptions) };
      case 'put':
        return {
          entry: snakeCased(
            await this.#opened().put(name, value as StoreValue, camelCased(rest) as PutOptions),
          ),
        };
      case 'get': {
        const got = await this.#opened().get(name);
        if (got === undefined) throw new WafStateError('not_found', 'there is no entry under this key');
        return { value: got };
      }
      case 'has':
        return { value: await this.#opened().has(name) };
      case 'delete':
        return { value: await this.#opened().delete(name) };
      case 'entry':
        return { entry: snakeCased(await this.#opened().entry(name)) };
      case 'list': {
        const { items, cursor, hasMore } = await this.#opened().list(camelCased(args) as ListOptions);
        return { keys: items.map((item) => item.key), count: items.length, cursor, has_more: hasMore };
      }
      case 'info':
        return { info: snakeCased(await this.#opened().info()) };
      default:
        throw new Error(`there is no op '${op}'`);
    }
  }

  #opened(): Store {
    return this.#store as Store;
  }

  #document(stores: readonly Fields[]): Fields {
    return { namespace: NAMESPACE, entries: [...this.#subject.engines, this.#anchor, ...stores] };
  }

  /** The checked fields; a duration also in milliseconds, as `cleanup_interval_ms`. */
  #config(fields: Fields): Fields {
    const document = this.#document([{ name: 'checked', kind: this.#subject.kind, ...fields }]);
    const { config } = checkStores(document).at(-1) ?? { config: {} };
    const durations = Object.entries(config).filter(([field]) => field.endsWith('_interval'));
    return {
      ...config,
      ...Object.fromEntries(durations.map(([field, text]) => [`${field}_ms`, parseDuration(String(text))])),
    };
  }

  /** `$name.field`, `$name.field+100` and `{"$repeat": [text, n]}` replaced by what they stand for. */
  #filled(value: unknown): unknown {
    if (typeof value === 'string') {
      const match = /^\$(\w+)\.(\w+)(?:\+(\d+))?$/.exec(value);
      const saved = match === null ? undefined : this.#saved.get(match[1] as string);
      if (match === null || saved === undefined) return value;
      const field = saved[match[2] as string];
      return match[3] === undefined ? field : String(BigInt(String(field)) + BigInt(match[3]));
    }
    if (Array.isArray(value)) return value.map((each) => this.#filled(each));
    if (typeof value !== 'object' || value === null) return value;
    const { $repeat } = value as { readonly $repeat?: readonly [string, number] };
    if ($repeat !== undefined) return $repeat[0].repeat($repeat[1]);
    return Object.fromEntries(Object.entries(value).map(([field, each]) => [field, this.#filled(each)]));
  }
}

function replaced(value: unknown, name: string, text: string): unknown {
  return JSON.parse(JSON.stringify(value), (_, each: unknown) =>
    typeof each === 'string' ? each.replaceAll(name, text) : each,
  ) as unknown;
}

function requireNumber(args: Fields, name: string): number {
  const value = args[name];
  if (typeof value === 'number') return value;
  throw new Error(`${name} must be a number`);
}

function camelCased(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

function snakeCased(fields: object): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value as unknown,
    ]),
  );
}
