import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { WafStateError } from '../../contract/errors.js';

/**
 * Keeps a thread from being ended inside a write transaction that is made of JavaScript: such a death hangs every writer of every
 * process for good. A guard is two words that the threads share:
 *
 *     [0]  1 = begin no more transactions
 *     [1]  transactions that are open now
 *
 * Who is about to exit sets the first and waits for the second to be zero; a writer counts itself in first and then looks
 * at the first, so one of the two always sees the other. Besides the guard of each backend there is one for the process,
 * handed down to its threads, so that the exit of the main thread waits for the writers of all of them. It is made when this
 * module is loaded, and so is the handler in the main thread: that need not open anything itself.
 *
 * `worker.terminate()` runs no handler in the thread it ends: threads that use the TypeScript writer must close it first. Nor is there a
 * handler in a main thread that starts such threads before it has loaded wafstate.
 */
const STOP = 0;
const OPEN = 1;
const PROCESS_GUARD = 'wafstate.lmdb.exit-guard';

/** Inherited by the threads that are started afterwards, and shared by the copies of this module in one thread. */
const processGuard = inheritedGuard();

/** On the side of the thread that must not be ended. */
export class TransactionGate {
  readonly #guards: readonly Int32Array[];

  /** The guard of whoever may end this thread alone comes first. */
  constructor(guards: readonly SharedArrayBuffer[]) {
    this.#guards = guards.map((guard) => new Int32Array(guard));
  }

  /**
   * For what a thread does by itself that opens a backend: its transactions, and loading the `lmdb` package, since a thread that is ended in
   * the middle of that takes the process down (SIGABRT). The main thread ends itself, and not in the middle of anything.
   */
  static ofCaller(): TransactionGate {
    return new TransactionGate(isMainThread ? [] : [processGuard]);
  }

  /** Runs `transaction`, or returns undefined without it where an exit has begun. */
  run<T>(transaction: () => T): T | undefined {
    if (!this.#enter()) return undefined;
    try {
      return transaction();
    } finally {
      this.#leave(this.#guards.length);
    }
  }

  /** The same, but throws `closed` where an exit has begun. */
  require<T>(transaction: () => T): T {
    if (!this.#enter()) throw exiting();
    try {
      return transaction();
    } finally {
      this.#leave(this.#guards.length);
    }
  }

  /**
   * One guard after the other: whoever has seen that the first is not stopped cannot be ended before it leaves that one. So no
   * count of the second is left behind by a thread that is gone, which the process would wait for in vain.
   */
  #enter(): boolean {
    for (const [index, guard] of this.#guards.entries()) {
      Atomics.add(guard, OPEN, 1);
      if (Atomics.load(guard, STOP) === 0) continue;
      this.#leave(index + 1);
      return false;
    }
    return true;
  }

  /** Leaves the first `count`, the last of them first. */
  #leave(count: number): void {
    for (const guard of this.#guards.slice(0, count).reverse()) {
      Atomics.sub(guard, OPEN, 1);
      Atomics.notify(guard, OPEN);
    }
  }
}

function exiting(): WafStateError {
  return new WafStateError('closed', 'openLmdb: the process is about to exit');
}

/** Guards of the backends that this thread has open. */
const openGuards = new Set<SharedArrayBuffer>();

/** A transaction that takes longer hangs in a lock. */
const PATIENCE_MILLISECONDS = 30_000;

/** Writers of this thread that are lost: they are not worth waiting for. */
let lostWriters = 0;

/** On the side of the thread that opened the backend. */
export class ExitGuard {
  readonly #own = new SharedArrayBuffer(8);
  #lost = false;
  #released = false;

  constructor() {
    if (openGuards.size === 0 && !isMainThread) process.on('exit', stopAll);
    openGuards.add(this.#own);
  }

  /** For the writer's `TransactionGate`. */
  get guards(): readonly SharedArrayBuffer[] {
    return [this.#own, processGuard];
  }

  /** The writer hangs, as far as can be told. */
  writerLost(): void {
    lostWriters++;
    this.#lost = true;
  }

  writerFound(): void {
    lostWriters--;
    this.#lost = false;
    if (this.#released) this.release();
  }

  /** Forgets the backend, once its writer has closed. */
  release(): void {
    this.#released = true;
    if (this.#lost) return;
    openGuards.delete(this.#own);
    if (openGuards.size === 0 && !isMainThread) process.off('exit', stopAll);
  }
}

/**
 * The catch: an exit of the main thread waits for all threads to end, and one that hangs in a disk, or in a lock which a stopped process
 * holds, never does. Then only a signal ends this process. The lock is robust, so that harms nobody.
 */
function stopAll(): void {
  const deadline = performance.now() + (lostWriters > 0 ? 0 : PATIENCE_MILLISECONDS);
  let stopped = lostWriters === 0;
  for (const guard of openGuards) stopped = stopAndWait(guard, deadline) && stopped;
  if (!isMainThread) return;
  stopped = stopAndWait(processGuard, deadline) && stopped;
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

function inheritedGuard(): SharedArrayBuffer {
  const inherited = getEnvironmentData(PROCESS_GUARD);
  if (inherited instanceof SharedArrayBuffer) return inherited;
  const guard = new SharedArrayBuffer(8);
  setEnvironmentData(PROCESS_GUARD, guard);
  return guard;
}

if (isMainThread) process.on('exit', stopAll);
