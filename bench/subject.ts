import type { Operation } from './load/closed-loop.js';
import type { Role } from './report.js';

export type Durability = 'durable' | 'relaxed';

/** What a subject may be asked to do. Each does it in the way that its documentation recommends. */
export type OperationName =
  /** Adds 1 to one counter of one key, acknowledged as the durability says. */
  | 'commit'
  /** The same as a limiter does it: with a window and a limit, and the new value is the answer. */
  | 'counter'
  /** One request of a web application firewall: bind ip and global, read 2, add 2, expire 1, processLogging. */
  | 'request'
  /** The same by rules: one request through the twenty of bench/rules, and its state stored. */
  | 'ruled_request'
  /** Reads one record. */
  | 'load';

export interface OpenOptions {
  /** An empty or earlier directory of this subject. */
  readonly directory: string;
  readonly durability: Durability;
}

/** An opened subject, in the child process that it has for itself. */
export interface Instance {
  readonly operations: Readonly<Partial<Record<OperationName, Operation>>>;
  /** Makes the counter of every key, 0, at once; where it is absent, each key gets one operation instead. */
  seed?(keys: readonly string[]): Promise<void>;
  /** The counter of a key as it stands in the store, 0 where there is none. */
  read?(key: string): Promise<number>;
  /** The cost of applying batches to records; only the record codecs have it. */
  apply?(request: ApplyRequest): Promise<ApplySample>;
  close(): Promise<void>;
}

/** What is measured: one file of bench/subjects each. Loaded by the runner too, so importing one must cost little. */
export interface Subject {
  readonly id: string;
  /** As the report names it. */
  readonly title: string;
  readonly role: Role;
  readonly environment?: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
  /** Why it cannot run here, or `undefined`. */
  missing(): string | undefined;
  open(options: OpenOptions): Promise<Instance>;
}

/** One figure of the record codecs. */
export interface ApplyRequest {
  /** Variables of the record, 1 to 4096. */
  readonly variables: number;
  /** Whether the batch touches each of them, or one. */
  readonly touched: 'all' | 'one';
  readonly milliseconds: number;
}

/** Batches applied per second by each codec, by name. */
export type ApplySample = Readonly<Record<string, number>>;
