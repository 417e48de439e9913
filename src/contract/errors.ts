/** What went wrong, coarsely: what a failure policy and a caller's `switch` go by. */
export type ErrorKind =
  | 'invalid'
  | 'not_found'
  | 'already_exists'
  | 'permission_denied'
  | 'conflict'
  | 'unavailable'
  | 'timeout'
  | 'capacity'
  | 'corrupt';

const CODES = {
  invalid_key: { kind: 'invalid', retryable: false },
  invalid_mutation: { kind: 'invalid', retryable: false },
  invalid_limit: { kind: 'invalid', retryable: false },
  invalid_option: { kind: 'invalid', retryable: false },
  not_initialized: { kind: 'invalid', retryable: false },
  already_bound: { kind: 'invalid', retryable: false },
  abi_mismatch: { kind: 'invalid', retryable: false },
  missing_feature: { kind: 'invalid', retryable: false },
  unsupported: { kind: 'invalid', retryable: false },
  not_found: { kind: 'not_found', retryable: false },
  already_exists: { kind: 'already_exists', retryable: false },
  permission_denied: { kind: 'permission_denied', retryable: false },
  conflict: { kind: 'conflict', retryable: true },
  retry_limit_exceeded: { kind: 'conflict', retryable: true },
  unavailable: { kind: 'unavailable', retryable: true },
  queue_full: { kind: 'unavailable', retryable: true },
  store_full: { kind: 'unavailable', retryable: true },
  closed: { kind: 'unavailable', retryable: false },
  writer_lost: { kind: 'unavailable', retryable: false },
  timeout: { kind: 'timeout', retryable: true },
  capacity_exceeded: { kind: 'capacity', retryable: false },
  corrupt_data: { kind: 'corrupt', retryable: false },
} as const satisfies Record<string, { kind: ErrorKind; retryable: boolean }>;

/** What went wrong, exactly. Each code has a heading in docs/errors.md. */
export type ErrorCode = keyof typeof CODES;

/** Every code there is, for those who map them. */
export const ERROR_CODES = Object.keys(CODES) as readonly ErrorCode[];

/** What is known of a write whose caller did not hear its end. */
export type Outcome = 'applied' | 'not_applied' | 'unknown';

/** Figures and names for programs; no client's key or value ever stands here or in a message. */
export interface ErrorDetails {
  /** Which collection or store: `ip`, `store 16`. */
  readonly space?: string;
  /** The option, limit or feature at fault, by its name in the API. */
  readonly option?: string;
  /** The bound that was met, in the unit the message names. */
  readonly limit?: number | bigint;
  /** The figure that met it. */
  readonly actual?: number | bigint;
  /** Of `timeout`: whether the commit ever left the queue. */
  readonly outcome?: 'not_sent' | 'unknown';
  /** Of a flush that failed in part: the fate of each dirty collection. */
  readonly collections?: Readonly<Record<string, Outcome>>;
}

export interface ErrorOptions {
  readonly details?: ErrorDetails;
  readonly cause?: unknown;
  /** Of an unknown outcome: resolves once the writer's own record tells it, and never rejects. */
  readonly settled?: Promise<'applied' | 'not_applied'>;
}

const BRAND = Symbol.for('wafstate.error');

/**
 * The one error class. `instanceof` holds across the ESM and the CommonJS copy of the package, so that an
 * application that loads both still recognizes every error.
 */
export class WafStateError extends Error {
  readonly code: ErrorCode;
  /** Absent unless the outcome is unknown. */
  readonly settled: Promise<'applied' | 'not_applied'> | undefined;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
    this.settled = options.settled;
  }

  get kind(): ErrorKind {
    return CODES[this.code].kind;
  }

  /** Whether the same call may succeed later without a change by the caller. */
  get retryable(): boolean {
    return CODES[this.code].retryable;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}
Object.defineProperty(WafStateError.prototype, BRAND, { value: true });
Object.defineProperty(WafStateError.prototype, 'name', { value: 'WafStateError' });
