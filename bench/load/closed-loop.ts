import { Histogram, type Percentiles } from '../histogram.js';
import type { KeySource } from './keys.js';
import { threadMicroseconds } from './thread-clock.js';

/** One operation of a subject. `undefined` = it was done when the call returned. */
export type Operation = (key: string) => Promise<unknown> | undefined;

/** What one round of load gave. */
export interface Sample {
  /** Operations that ended before the clock stopped. */
  readonly operations: number;
  readonly seconds: number;
  /** All that ended, those after the clock stopped included: what must be found in the store. */
  readonly acknowledged: number;
  /** Microseconds. Of a closed loop: each caller waits for its answer, so these say nothing about an overload. */
  readonly latency: Percentiles | undefined;
  /** CPU microseconds of the main thread per operation, the load generator's own included. */
  readonly mainThreadMicroseconds: number | undefined;
  readonly residentBytes: number;
}

/** Every 16th operation is timed: two looks at the clock cost as much as a tenth of a commit. */
const TIMED = 16;
/** How often the clock is looked at: timers would never fire between promises that settle at once. */
const CLOCK_CHECKS = 32;

/**
 * `callers` that each wait for their answer before they ask again, for a time or until the keys are used up. Rejects with the
 * first failure of an operation.
 */
export function closedLoop(
  operation: Operation,
  keys: KeySource,
  { callers, milliseconds }: { readonly callers: number; readonly milliseconds: number },
): Promise<Sample> {
  return new Promise((resolve, reject) => {
    const histogram = new Histogram();
    let issued = 0;
    let acknowledged = 0;
    let inFlight = 0;
    let closing = false;
    let counted = -1;
    let stoppedAt = 0;
    const cpuStart = threadMicroseconds();
    let cpuEnd: number | undefined;
    const start = performance.now();
    const end = start + milliseconds;

    const stop = (now: number): void => {
      if (counted >= 0) return;
      counted = acknowledged;
      stoppedAt = now;
      cpuEnd = threadMicroseconds();
    };
    const fail = (reason: unknown): void => {
      closing = true;
      reject(reason);
    };
    const finish = (): void => {
      const seconds = (stoppedAt - start) / 1000;
      const cpu = cpuStart === undefined || cpuEnd === undefined ? undefined : cpuEnd - cpuStart;
      resolve({
        operations: counted,
        seconds,
        acknowledged,
        latency: histogram.count === 0 ? undefined : histogram.percentiles(1000),
        mainThreadMicroseconds: cpu === undefined || counted === 0 ? undefined : cpu / counted,
        residentBytes: process.memoryUsage.rss(),
      });
    };
    const done = (): void => {
      inFlight--;
      acknowledged++;
      if (!closing && acknowledged % CLOCK_CHECKS === 0 && performance.now() >= end) {
        closing = true;
        // A group commit settles thousands at once: all of them belong to the round, and so does the time they took.
        setImmediate(() => stop(performance.now()));
      }
      caller();
    };
    const doneTimed = (began: number): void => {
      histogram.record((performance.now() - began) * 1e6);
      done();
    };
    const caller = (): void => {
      while (!closing) {
        const key = keys.next();
        if (key === undefined) break;
        const timed = issued++ % TIMED === 0;
        const began = timed ? performance.now() : 0;
        const pending = operation(key);
        if (pending !== undefined) {
          inFlight++;
          pending.then(timed ? () => doneTimed(began) : done, fail);
          return;
        }
        acknowledged++;
        const now = performance.now();
        if (timed) histogram.record((now - began) * 1e6);
        closing = now >= end;
      }
      if (inFlight > 0) return;
      // All keys are used up, or all that was under way has ended: there is nothing left to wait for.
      stop(performance.now());
      finish();
    };
    try {
      for (let i = 0; i < callers; i++) caller();
    } catch (error) {
      fail(error);
    }
  });
}
