/** Two neighbouring buckets differ by at most 1 in 128: under 0.8 %, which is finer than any two runs agree. */
const SUB_BUCKETS = 128;
const SUB_BUCKET_BITS = 7;
/** 2^52 nanoseconds are 52 days. */
const MOST = 2 ** 52 - 1;
const BUCKETS = (52 - SUB_BUCKET_BITS + 1) * SUB_BUCKETS;

/** The three percentiles of the report, in the unit of what was recorded. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/**
 * A latency histogram of logarithmic buckets, as in Tene's HdrHistogram: recording is a few integer operations and no
 * allocation, so it can stand inside what it measures.
 *
 * Values are integers from 0 to 2^52-1 (nanoseconds here); what lies outside is held at the bound.
 */
export class Histogram {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #greatest = 0;

  get count(): number {
    return this.#count;
  }

  get greatest(): number {
    return this.#greatest;
  }

  record(value: number): void {
    const held = value > MOST ? MOST : value > 0 ? Math.floor(value) : 0;
    const bucket = bucketOf(held);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count++;
    if (held > this.#greatest) this.#greatest = held;
  }

  /**
   * The value that `percent` of all recorded values do not exceed: the upper end of its bucket, so never too low, and at most the
   * greatest value. 0 where nothing was recorded.
   */
  percentile(percent: number): number {
    const rank = Math.max(1, Math.ceil((percent / 100) * this.#count));
    let seen = 0;
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      seen += this.#counts[bucket] as number;
      if (seen >= rank) return Math.min(upperEnd(bucket), this.#greatest);
    }
    return 0;
  }

  /** `scale` divides: 1000 turns nanoseconds into microseconds. */
  percentiles(scale = 1): Percentiles {
    return {
      p50: this.percentile(50) / scale,
      p99: this.percentile(99) / scale,
      p999: this.percentile(99.9) / scale,
    };
  }
}

/** The first 128 buckets hold one value each; then every power of two has 128 of equal width. */
function bucketOf(value: number): number {
  if (value < SUB_BUCKETS) return value;
  // clz32 has 32 bits, a time may have 52: the upper part is looked at by itself.
  const log = value < 2 ** 31 ? 31 - Math.clz32(value) : 62 - Math.clz32(value / 2 ** 31);
  const shift = log - SUB_BUCKET_BITS;
  return shift * SUB_BUCKETS + Math.floor(value / 2 ** shift);
}

function upperEnd(bucket: number): number {
  if (bucket < 2 * SUB_BUCKETS) return bucket;
  const shift = Math.floor(bucket / SUB_BUCKETS) - 1;
  return (bucket - shift * SUB_BUCKETS + 1) * 2 ** shift - 1;
}
