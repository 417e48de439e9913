import type { Sample } from './load/closed-loop.js';
import type { KeySet } from './load/keys.js';
import type { OpenSample } from './load/open-loop.js';
import type { ApplyRequest, ApplySample, OpenOptions, OperationName } from './subject.js';

/**
 * What the runner asks of a subject's process, one request at a time over the IPC channel as JSON: a subject at rest waits
 * there and costs no CPU while another is measured.
 */
export interface Calls {
  open(options: OpenOptions): void;
  /** Makes every known key of the set exist. */
  prepare(request: { readonly operation: OperationName; readonly keys: KeySet }): void;
  closedLoop(request: {
    readonly operation: OperationName;
    readonly keys: KeySet;
    readonly callers: number;
    readonly milliseconds: number;
  }): Sample;
  openLoop(request: {
    readonly operation: OperationName;
    readonly keys: KeySet;
    readonly rate: number;
    readonly milliseconds: number;
  }): OpenSample;
  /** One operation on each address from number `from` up to but not including `to`. */
  fill(request: { readonly operation: OperationName; readonly from: number; readonly to: number }): void;
  /** Resident bytes without garbage. */
  memory(): number;
  /** The sum of the counters of the first `count` addresses. */
  total(request: { readonly count: number }): number;
  apply(request: ApplyRequest): ApplySample;
  close(): void;
}

export type CallName = keyof Calls;

export interface Call<Name extends CallName = CallName> {
  readonly name: Name;
  readonly request: Parameters<Calls[Name]>[0];
}

export type Reply =
  | { readonly result: unknown; readonly error?: undefined }
  | { readonly error: string; readonly result?: undefined };
