import { Histogram, type Percentiles } from '../histogram.js';
import type { Operation } from './closed-loop.js';
import type { KeySource } from './keys.js';

/** What a stretch of load at a fixed rate gave. */
export interface OpenSample {
  /** Operations a second that were due, and that ended. */
  readonly offered: number;
  readonly achieved: number;
  /** Microseconds from when an operation was due, however late it was begun. */
  readonly latency: Percentiles;
  /** Microseconds by which the event loop was late, looked at as if something were due every tenth of a millisecond. */
  readonly eventLoopDelay: Percentiles;
  /** Less than 95 % of what was offered got done: the latencies tell how long the overload lasted, nothing else. */
  readonly saturated: boolean;
}

const PROBE_MS = 0.1;
/** Operations begun before the event loop gets its turn: a backlog must not be one long block of its own making. */
const BURST = 64;
const SATURATED_BELOW = 0.95;

/**
 * Operations that fall due at a fixed rate, whether earlier ones have ended or not, each timed from when it was due. A closed
 * loop asks less while the subject is stuck, and so leaves out the very latencies that hurt (Tene's coordinated omission).
 *
 * The generator spins (setImmediate) rather than sleeps: a timer's millisecond would drown the latencies.
 */
export function openLoop(
  operation: Operation,
  keys: KeySource,
  { rate, milliseconds }: { readonly rate: number; readonly milliseconds: number },
): Promise<OpenSample> {
  return new Promise((resolve, reject) => {
    const latency = new Histogram();
    const delay = new Histogram();
    const total = Math.max(1, Math.round((rate * milliseconds) / 1000));
    const interval = 1000 / rate;
    const start = performance.now();
    let issued = 0;
    let ended = 0;
    let lastEnd = start;
    let probes = 0;
    let failed = false;

    const finish = (): void => {
      const seconds = Math.max(lastEnd - start, milliseconds) / 1000;
      const achieved = ended / seconds;
      resolve({
        offered: rate,
        achieved,
        latency: latency.percentiles(1000),
        eventLoopDelay: delay.percentiles(1000),
        saturated: ended < total || achieved < rate * SATURATED_BELOW,
      });
    };
    const fail = (reason: unknown): void => {
      failed = true;
      reject(reason);
    };
    const done = (due: number): void => {
      lastEnd = performance.now();
      latency.record((lastEnd - due) * 1e6);
      ended++;
    };
    const issue = (now: number): void => {
      for (let burst = 0; burst < BURST && issued < total; burst++) {
        const due = start + issued * interval;
        if (due > now) return;
        const key = keys.next();
        if (key === undefined) throw new RangeError('the keys ran out before the load was over');
        issued++;
        const pending = operation(key);
        if (pending === undefined) done(due);
        else pending.then(() => done(due), fail);
      }
    };
    const turn = (): void => {
      if (failed) return;
      const now = performance.now();
      for (let due = start + probes * PROBE_MS; due <= now; due += PROBE_MS) {
        delay.record((now - due) * 1e6);
        probes++;
      }
      // What could not even be begun in twice the time never will be: the tail would only grow.
      const hopeless = now - start > 2 * milliseconds;
      if ((issued === total || hopeless) && ended === issued) {
        finish();
        return;
      }
      try {
        if (!hopeless) issue(now);
      } catch (error) {
        fail(error);
        return;
      }
      setImmediate(turn);
    };
    turn();
  });
}
