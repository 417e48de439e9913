import type { CleanupBudget, CleanupResult } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import type { ErrorCode, ErrorDetails, WafStateError } from '../../contract/errors.js';
import type { Durability } from './layout.js';
import type { OnConflict, RestoreAnswer } from './native-addon.js';

/** What passes between the calling thread and the writer's: plain data, since errors lose their fields on the way. */

/** Everything a writer thread needs, so that a replacement for one that died opens by itself. */
export interface WriterSetup {
  readonly implementation: 'native' | 'typescript';
  readonly directory: string;
  readonly gate: string;
  readonly mapSize: number;
  readonly maxReaders: number;
  readonly mode: number;
  readonly durability: Durability;
  /** Milliseconds without an answer after which the writer counts as lost. */
  readonly writerTimeout: number;
  /** 16 random bytes as a byte string, and the same writer's number within the process. */
  readonly writerName: ByteString;
  readonly writerNumber: bigint;
  /** See `ExitGuard`. */
  readonly guards: readonly SharedArrayBuffer[];
}

export type WriterTask =
  | { readonly type: 'open' }
  | { readonly type: 'batch'; readonly sequence: number; readonly batch: Uint8Array<ArrayBuffer> }
  | {
      readonly type: 'cleanup';
      readonly now: bigint;
      readonly budget: CleanupBudget;
      readonly interval: bigint;
    }
  | {
      readonly type: 'restore';
      /** u32 length and the record, one after the other. */
      readonly records: Uint8Array;
      readonly onConflict: OnConflict;
      readonly now: bigint;
    }
  | { readonly type: 'sync' }
  | { readonly type: 'close' };

/** A cleanup that another process made superfluous is skipped. */
export type SweepAnswer = CleanupResult & { readonly skipped: boolean };

export interface FailedAnswer {
  readonly failure: { readonly code: ErrorCode; readonly message: string; readonly details: ErrorDetails };
}

/** By type of task; a reply is its bytes alone, the rest are objects. */
export type WriterAnswer = Uint8Array<ArrayBuffer> | SweepAnswer | RestoreAnswer | FailedAnswer | null;

/** What the writer thread does, by either implementation. */
export interface Writer {
  /** The reply, or undefined where the process is about to exit and nothing was done. */
  execute(sequence: number, batch: Uint8Array): Uint8Array<ArrayBuffer> | undefined;
  cleanup(now: bigint, budget: CleanupBudget, interval: bigint): SweepAnswer;
  restore(records: Uint8Array, onConflict: OnConflict, now: bigint): RestoreAnswer;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export function failedAnswer(error: WafStateError): FailedAnswer {
  return { failure: { code: error.code, message: error.message, details: error.details } };
}

export function isFailure(answer: WriterAnswer): answer is FailedAnswer {
  return answer !== null && 'failure' in answer;
}
