/** Nanoseconds in one second. */
export const SECOND = 1_000_000_000n;

/** Seconds, ten years: the longest that anything may be asked to last. What is longer is a slip, such as milliseconds. */
export const TEN_YEARS = 315_360_000;

/** The range of a time and of a signed 64-bit integer. */
export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;

/**
 * Where time comes from. `now` is nanoseconds since the Unix epoch, in the range of a signed 64-bit integer, and
 * never goes back within a process. Tests inject their own.
 */
export interface Clock {
  now(): bigint;
}

class SystemClock implements Clock {
  #milliseconds = 0;
  #nanoseconds = 0n;

  /** Millisecond steps: finer ones cost more than any deadline is worth. Holds still while the system's clock is set back. */
  now(): bigint {
    const milliseconds = Date.now();
    if (milliseconds > this.#milliseconds) {
      this.#milliseconds = milliseconds;
      this.#nanoseconds = BigInt(milliseconds) * 1_000_000n;
    }
    return this.#nanoseconds;
  }
}

/** The system's clock, shared by all of a thread so that it is monotonic across them. */
export const systemClock: Clock = new SystemClock();

/** `time + duration`, held at the bounds of 64 bits: a deadline beyond them is as good as the bound. */
export function saturatingAdd(time: bigint, duration: bigint): bigint {
  const sum = time + duration;
  return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : sum;
}
