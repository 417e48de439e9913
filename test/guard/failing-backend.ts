import { type Backend, type ErrorCode, openMemory, WafStateError } from 'wafstate';

/** An engine whose loads and commits fail while the switches say so. */
export class FailingBackend implements Backend {
  readonly #memory = openMemory({ cleanupInterval: 0 });
  readonly abiVersion = this.#memory.abiVersion;
  readonly name = 'failing';
  readonly features = new Set(
    [...this.#memory.features].filter((feature) => feature !== 'synchronous_commit'),
  );
  loads: ErrorCode | undefined = undefined;
  commits: ErrorCode | undefined = undefined;
  /** Commits wait for it. */
  barrier: Promise<void> = Promise.resolve();
  committed = 0;

  readonly load: Backend['load'] = async (...args) => {
    this.#check(this.loads);
    return this.#memory.load(...args);
  };

  readonly loadSync: Required<Backend>['loadSync'] = (...args) => {
    this.#check(this.loads);
    return this.#memory.loadSync(...args);
  };

  readonly commit: Backend['commit'] = async (...args) => {
    await this.barrier;
    this.#check(this.commits);
    this.committed++;
    return this.#memory.commit(...args);
  };

  readonly cleanup: Backend['cleanup'] = (...args) => this.#memory.cleanup(...args);
  readonly scan: Backend['scan'] = (...args) => this.#memory.scan(...args);
  readonly close: Backend['close'] = () => this.#memory.close();

  #check(code: ErrorCode | undefined): void {
    if (code !== undefined) throw new WafStateError(code, 'the engine was told to fail');
  }
}
