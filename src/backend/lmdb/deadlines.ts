import type { PendingCommit } from './pending-commit.js';

/**
 * One timer for all commits that wait, armed for the earliest deadline among them. When it fires it looks at everything that
 * waits: that is bounded by the queue, and happens once a millisecond at most.
 */
export class Deadlines {
  readonly #waiting: () => Iterable<PendingCommit>;
  #timer: NodeJS.Timeout | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(waiting: () => Iterable<PendingCommit>) {
    this.#waiting = waiting;
  }

  watch(deadline: number): void {
    if (deadline >= this.#armedFor) return;
    this.#armedFor = deadline;
    clearTimeout(this.#timer);
    // Timers hold 2^31 - 1 ms at most; one that fires early arms itself again.
    const delay = Math.min(Math.max(1, Math.ceil(deadline - performance.now())), 2 ** 31 - 1);
    this.#timer = setTimeout(() => this.#expire(), delay);
    // A commit in flight keeps the process alive by the writer's port; a timer that outlives its commit must not.
    this.#timer.unref();
  }

  #expire(): void {
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const pending of this.#waiting()) {
      if (pending.deadline === undefined) continue;
      if (pending.deadline <= now) {
        pending.giveUp(
          'timeout',
          'the deadline of the commit passed before the writer answered; see details.outcome, and error.settled for what has left',
        );
      } else if (pending.deadline < next) next = pending.deadline;
    }
    this.#armedFor = Number.POSITIVE_INFINITY;
    if (next !== Number.POSITIVE_INFINITY) this.watch(next);
  }
}
