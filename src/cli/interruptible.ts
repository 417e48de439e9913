/** The source until SIGINT comes, also where it waits for a line that may never come. */
export class Interruptible<T> implements AsyncIterable<T> {
  readonly #source: AsyncIterable<T>;
  #interrupted = false;
  #stopWaiting: (() => void) | undefined;
  readonly #interrupt = (): void => {
    this.#interrupted = true;
    this.#stopWaiting?.();
  };

  constructor(source: AsyncIterable<T>) {
    this.#source = source;
    process.once('SIGINT', this.#interrupt);
  }

  get interrupted(): boolean {
    return this.#interrupted;
  }

  end(): void {
    process.removeListener('SIGINT', this.#interrupt);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const iterator = this.#source[Symbol.asyncIterator]();
    try {
      while (!this.#interrupted) {
        const next = await new Promise<IteratorResult<T> | undefined>((resolve, reject) => {
          this.#stopWaiting = () => resolve(undefined);
          iterator.next().then(resolve, reject);
        });
        if (next === undefined || next.done === true) return;
        yield next.value;
      }
    } finally {
      // An iterator that waits would answer only after that.
      if (!this.#interrupted) await iterator.return?.();
    }
  }
}
