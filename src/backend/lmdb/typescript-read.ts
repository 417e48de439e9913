import { WafStateError } from '../../contract/errors.js';
import { readersFull } from './environment.js';
import type { PackageEnvironment } from './lmdb-package.js';

const READERS_FULL = -30_790;

/**
 * Reads as of the newest commit of any process: without the reset, the package may go on with the snapshot that it took in
 * this turn of the event loop, and miss a commit acknowledged since. REQUIRES: no write transaction of this thread is open.
 */
export function readNewest<T>(
  data: PackageEnvironment,
  maxReaders: number,
  action: (data: PackageEnvironment) => T,
): T {
  data.resetReadTxn();
  try {
    return action(data);
  } catch (error) {
    if (codeOf(error) !== READERS_FULL) throw readError(error);
  }
  // Slots of processes that were killed stay taken until somebody looks.
  if (data.readerCheck() === 0) throw readersFull(maxReaders);
  try {
    return action(data);
  } catch (error) {
    throw codeOf(error) === READERS_FULL ? readersFull(maxReaders) : readError(error);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function readError(error: unknown): WafStateError {
  if (error instanceof WafStateError) return error;
  const code = codeOf(error);
  return new WafStateError(
    'unavailable',
    `LMDB cannot read (${code === undefined ? 'no code' : String(code)}); verify the environment if it stays`,
    { cause: error },
  );
}
