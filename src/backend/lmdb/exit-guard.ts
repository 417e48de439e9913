import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

/**
 * Keeps a thread from being ended inside a write transaction that is made of JavaScript: such a death hangs every writer of every
 * process for good. A guard is two words that the threads share:
 *
 *     [0]  1 = begin no more transactions
 *     [1]  transactions that are open now
 *
 * Who is about to exit sets the first and waits for the second to be zero; a writer counts itself in first and then looks
 * at the first, so one of the two always sees the other. Besides the guard of each backend there is one for the process,
 * handed down to its threads, so that the exit of the main thread waits for the writers of all of them.
 *
 * `worker.terminate()` runs no handler in the thread it ends: threads that use the TypeScript writer must close it first.
 */
const STOP = 0;
const OPEN = 1;
const PROCESS_GUARD = 'wafstate.lmdb.exit-guard';

/** On the writer's side. */
export class TransactionGate {
  readonly #guards: readonly Int32Array[];

  constructor(guards: readonly SharedArrayBuffer[]) {
    this.#guards = guards.map((guard) => new Int32Array(guard));
  }

  /** Runs `transaction`, or returns undefined without it where an exit has begun. */
  run<T>(transaction: () => T): T | undefined {
    for (const guard of this.#guards) Atomics.add(guard, OPEN, 1);
    try {
      return this.#guards.some((guard) => Atomics.load(guard, STOP) === 1) ? undefined : transaction();
    } finally {
      for (const guard of this.#guards) {
        Atomics.sub(guard, OPEN, 1);
        Atomics.notify(guard, OPEN);
      }
    }
  }
}

/** Guards of the backends that this thread has open. */
const openGuards = new Set<SharedArrayBuffer>();

/** A transaction that takes longer hangs in a lock. */
const PATIENCE_MILLISECONDS = 30_000;

/** A writer of this process has been declared lost: it is not worth waiting for. */
let hanging = false;

/** On the side of the thread that opened the backend. */
export class ExitGuard {
  readonly #own = new SharedArrayBuffer(8);
  readonly #process = processGuard();
  #lost = false;

  constructor() {
    if (openGuards.size === 0) process.on('exit', stopAll);
    openGuards.add(this.#own);
  }

  /** For the writer's `TransactionGate`. */
  get guards(): readonly SharedArrayBuffer[] {
    return [this.#own, this.#process];
  }

  /** The writer hangs, as far as can be told, and will not close. */
  giveUp(): void {
    hanging = true;
    this.#lost = true;
  }

  /** Forgets the backend, once its writer has closed. */
  release(): void {
    if (this.#lost) return;
    openGuards.delete(this.#own);
    if (openGuards.size === 0) process.off('exit', stopAll);
  }
}

/**
 * The catch: an exit of the main thread waits for all threads to end, and one that hangs in a lock which a stopped process holds
 * never does. Then only a signal ends this process. The lock is robust, so that harms nobody.
 */
function stopAll(): void {
  const deadline = performance.now() + (hanging ? 0 : PATIENCE_MILLISECONDS);
  let stopped = true;
  for (const guard of openGuards) stopped = stopAndWait(guard, deadline) && stopped;
  if (!isMainThread) return;
  stopped = stopAndWait(processGuard(), deadline) && stopped;
  if (!stopped) process.kill(process.pid, 'SIGKILL');
}

/** Whether no transaction is open any more. */
function stopAndWait(buffer: SharedArrayBuffer, deadline: number): boolean {
  const guard = new Int32Array(buffer);
  Atomics.store(guard, STOP, 1);
  for (;;) {
    const open = Atomics.load(guard, OPEN);
    const left = deadline - performance.now();
    if (open === 0 || left <= 0) return open === 0;
    Atomics.wait(guard, OPEN, open, left);
  }
}

/** Made by the first thread that opens, inherited by the threads that it starts afterwards. */
function processGuard(): SharedArrayBuffer {
  const inherited = getEnvironmentData(PROCESS_GUARD);
  if (inherited instanceof SharedArrayBuffer) return inherited;
  const guard = new SharedArrayBuffer(8);
  setEnvironmentData(PROCESS_GUARD, guard);
  return guard;
}
