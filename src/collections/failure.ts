import { type ErrorKind, type Outcome, WafStateError } from '../contract/errors.js';

/** The kinds that `fail_open` lets pass; misuse is never turned into success. */
const PASSED: ReadonlySet<ErrorKind> = new Set(['unavailable', 'timeout', 'conflict', 'corrupt', 'capacity']);

export function mayPass(error: WafStateError): boolean {
  return PASSED.has(error.kind);
}

/** What an engine threw. One that breaks the contract and throws something else has left the outcome unknown. */
export function asFailure(error: unknown, backend: string): WafStateError {
  if (error instanceof WafStateError) return error;
  return new WafStateError(
    'unavailable',
    `backend ${backend} failed with an error that is no WafStateError; see its cause, and report it to the backend's authors`,
    { details: { outcome: 'unknown' }, cause: error },
  );
}

/**
 * The fate of a commit that was rejected. A rejection leaves no trace, unless the engine says that it does not know, or has
 * stopped waiting and says nothing.
 */
export function outcomeOf(error: WafStateError): Outcome {
  const { outcome } = error.details;
  if (outcome !== undefined) return outcome === 'unknown' ? 'unknown' : 'not_applied';
  return error.code === 'timeout' || error.settled !== undefined ? 'unknown' : 'not_applied';
}

export function deadlinePassed(what: string, cause?: WafStateError): WafStateError {
  return new WafStateError(
    'timeout',
    `the transaction's deadline passed before ${what}; give begin() a later deadline`,
    { details: { outcome: 'not_sent' }, cause },
  );
}
