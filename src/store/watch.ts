import { type ByteString, decodeText } from '../contract/bytes.js';
import { WafStateError } from '../contract/errors.js';
import { refuseUnknownOptions } from '../contract/options.js';
import { type Current, type Entry, entryOf } from './entry.js';
import { invalid, toKeyPart } from './input.js';

export interface WatchOptions {
  /** Keys that begin with this. Default: all. */
  readonly prefix?: string | undefined;
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined;
}

/** One change of one key. That an entry has expired is no change. */
export type StoreEvent =
  | {
      readonly type: 'put';
      readonly key: string;
      readonly entry: Entry;
      readonly previous: Entry | undefined;
    }
  | { readonly type: 'delete'; readonly key: string; readonly previous: Entry };

/** Events that may wait for whoever watches, each with the values before and after. */
const MAX_WAITING = 1000;

/** Those who watch one store. */
export class Watchers {
  readonly #watches = new Set<Watch>();

  /** Events from now on. Throws `invalid_option`. */
  watch(options: WatchOptions = {}): AsyncIterableIterator<StoreEvent> {
    refuseUnknownOptions('watch', options, ['prefix', 'signal']);
    const prefix = toKeyPart('prefix', options.prefix);
    const { signal } = options;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw invalid('signal', 'signal must be an AbortSignal');
    }
    const watch = new Watch(prefix, signal, () => this.#watches.delete(watch));
    this.#watches.add(watch);
    if (signal?.aborted === true) watch.end();
    return watch;
  }

  tell(key: ByteString, before: Current | undefined, after: Current | undefined): void {
    let event: StoreEvent | undefined;
    for (const watch of this.#watches) {
      if (!watch.concerns(key)) continue;
      event ??= eventOf(key, before, after);
      if (event !== undefined) watch.push(event);
    }
  }

  /** No more events: the store has stopped. */
  end(): void {
    for (const watch of this.#watches) watch.end();
  }
}

class Watch implements AsyncIterableIterator<StoreEvent> {
  readonly #prefix: ByteString;
  readonly #detach: () => void;
  readonly #waiting: StoreEvent[] = [];
  #readers: ((result: IteratorResult<StoreEvent>) => void)[] = [];
  #ended = false;
  #failure: WafStateError | undefined;

  constructor(prefix: ByteString, signal: AbortSignal | undefined, forget: () => void) {
    this.#prefix = prefix;
    const abort = (): void => this.end();
    signal?.addEventListener('abort', abort, { once: true });
    this.#detach = () => {
      signal?.removeEventListener('abort', abort);
      forget();
    };
  }

  concerns(key: ByteString): boolean {
    return key.startsWith(this.#prefix);
  }

  push(event: StoreEvent): void {
    const reader = this.#readers.shift();
    if (reader !== undefined) reader({ done: false, value: event });
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(event);
    else {
      this.#failure = new WafStateError(
        'queue_full',
        `more than ${MAX_WAITING} events wait for this watch, and later ones are lost to it; list the store, and watch anew`,
        { details: { limit: MAX_WAITING } },
      );
      this.end();
    }
  }

  /** What waits is still read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#detach();
    for (const resolve of this.#readers) resolve({ done: true, value: undefined });
    this.#readers = [];
  }

  next(): Promise<IteratorResult<StoreEvent>> {
    const event = this.#waiting.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) return Promise.reject(failure);
    if (this.#ended) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  return(): Promise<IteratorResult<StoreEvent>> {
    this.end();
    this.#waiting.length = 0;
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function eventOf(
  key: ByteString,
  before: Current | undefined,
  after: Current | undefined,
): StoreEvent | undefined {
  const previous = before && entryOf(key, before);
  if (after !== undefined) return { type: 'put', key: decodeText(key), entry: entryOf(key, after), previous };
  return previous && { type: 'delete', key: decodeText(key), previous };
}
