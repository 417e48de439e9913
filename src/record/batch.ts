import type { ByteString } from '../contract/bytes.js';
import { RequestReader } from './request-reader.js';
import { MALFORMED, type Refusal } from './status.js';
import { Applier } from './typescript/applier.js';
import { ReplyWriter } from './typescript/reply-writer.js';

/** What an engine lends to an execution. */
export interface RecordSource {
  /**
   * The record stored under a key of docs/format.md. The bytes are not used beyond the next call, so a buffer that is
   * used again will do, if it is no longer than the record.
   */
  read(key: Buffer): Uint8Array | undefined;
  /** A revision that was never given before: see `nextRevision`. */
  takeRevision(): number;
}

/** What a batch does to one stored record. */
export interface Change {
  readonly key: Buffer;
  /** `undefined`: delete it. */
  readonly record: Buffer | undefined;
}

/** A record as the batch has it so far. */
interface Entry {
  readonly key: Buffer;
  /** Whether some request of the batch has written it; until then the source has it. */
  changed: boolean;
  record: Buffer | undefined;
  /** Bytes that the source has under the key; 0 = none, or not read yet. */
  storedBytes: number;
}

interface PlannedRequest {
  readonly start: number;
  readonly end: number;
  /** The records of its writes, in order. */
  readonly entries: readonly Entry[];
  refusal: Refusal | undefined;
  applied: boolean;
  growth: number;
}

/**
 * A whole batch against any store of records: `native/core/batch_executor.h` in TypeScript, with the same answers.
 *
 * Construction reads and checks every request, so that a transaction need not; `execute` then goes request by
 * request. Each sees what those before it have done. One that fails leaves no trace, and its neighbours alone: its
 * writes are staged aside and taken over together once the last has succeeded.
 */
export class BatchExecutor {
  readonly #reader = new RequestReader();
  readonly #applier = new Applier();
  readonly #reply = new ReplyWriter();
  readonly #requests: PlannedRequest[] = [];
  readonly #entries: Entry[];
  #staged: (Buffer | undefined)[] = [];
  #gaveRevisions = false;

  /** `batch` must stay as it is as long as this is used. */
  constructor(batch: Uint8Array) {
    const entries = new Map<ByteString, Entry>();
    this.#reader.open(batch);
    for (let start = 0; start < batch.byteLength; ) {
      const end = this.#reader.endOf(start);
      this.#requests.push(this.#plan(start, end, entries));
      start = end;
    }
    this.#entries = [...entries.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry);
  }

  get requests(): number {
    return this.#requests.length;
  }

  /**
   * From now on the request is answered with this and not executed: for what only the engine knows, such as a full map.
   * Malformed ones keep their own answer.
   */
  refuse(request: number, refusal: Refusal): void {
    const planned = this.#requests[request] as PlannedRequest;
    if (planned.refusal !== MALFORMED) planned.refusal = refusal;
  }

  /**
   * Executes every request that is not refused, against what `source` has now. Everything of an earlier execution is
   * forgotten, so an engine may abort its transaction, refuse some requests, and execute again.
   */
  execute(source: RecordSource): void {
    for (const entry of this.#entries) {
      entry.changed = false;
      entry.record = undefined;
      entry.storedBytes = 0;
    }
    this.#gaveRevisions = false;
    this.#reply.clear();
    for (const planned of this.#requests) {
      this.#reply.beginAnswer();
      const refusal = planned.refusal ?? this.#executeRequest(planned, source);
      planned.applied = refusal === undefined;
      planned.growth = 0;
      if (refusal === undefined) {
        this.#publish(planned);
        this.#reply.finishAnswer();
      } else {
        this.#reply.refuse(refusal);
      }
    }
  }

  /** Whether the last execution applied the request. */
  applied(request: number): boolean {
    return (this.#requests[request] as PlannedRequest).applied;
  }

  /** By how many bytes the records that the request wrote became longer: what to refuse first when space runs out. */
  growth(request: number): number {
    return (this.#requests[request] as PlannedRequest).growth;
  }

  /**
   * Whether an answer of the last execution names a revision. The last one must be stored then, also where nothing changed: of a
   * record that came and went within the batch somebody knows it all the same.
   */
  get gaveRevisions(): boolean {
    return this.#gaveRevisions;
  }

  /** In byte order of the keys, each once. */
  changes(): Change[] {
    const changes: Change[] = [];
    for (const { changed, record, key, storedBytes } of this.#entries) {
      // What came and went within the batch, or was removed without having been there, concerns no one.
      if (changed && (record !== undefined || storedBytes > 0)) changes.push({ key, record });
    }
    return changes;
  }

  /** One answer for every request, the caller's to keep. */
  reply(): Buffer {
    return this.#reply.copy();
  }

  #plan(start: number, end: number, entries: Map<ByteString, Entry>): PlannedRequest {
    const reader = this.#reader;
    const own: Entry[] = [];
    const sound = reader.read(start, end);
    for (let i = 0; sound && i < reader.writes; i++) own.push(entryOf(entries, reader.key(i)));
    const repeats = own.length > 1 && new Set(own).size < own.length;
    return {
      start,
      end,
      entries: own,
      refusal: sound && !repeats ? undefined : MALFORMED,
      applied: false,
      growth: 0,
    };
  }

  #executeRequest(planned: PlannedRequest, source: RecordSource): Refusal | undefined {
    this.#reader.read(planned.start, planned.end);
    this.#staged = [];
    for (let i = 0; i < planned.entries.length; i++) {
      const entry = planned.entries[i] as Entry;
      const existing = entry.changed ? entry.record : read(entry, source);
      const refusal = this.#applier.apply(existing, this.#reader, i, source.takeRevision(), this.#reply);
      if (refusal !== undefined) return refusal;
      this.#staged.push(this.#applier.record);
    }
    return undefined;
  }

  #publish(planned: PlannedRequest): void {
    for (let i = 0; i < planned.entries.length; i++) {
      const entry = planned.entries[i] as Entry;
      const before = entry.changed ? (entry.record?.length ?? 0) : entry.storedBytes;
      entry.changed = true;
      entry.record = this.#staged[i];
      if (entry.record !== undefined) this.#gaveRevisions = true;
      planned.growth += (entry.record?.length ?? 0) - before;
    }
  }
}

/**
 * The revision after `last`: greater than it, and not below the microseconds since the epoch, so that none is used again
 * where the newest were lost with a power cut.
 */
export function nextRevision(last: number): number {
  return Math.max(last + 1, Date.now() * 1000);
}

function entryOf(entries: Map<ByteString, Entry>, key: Buffer): Entry {
  const name = key.toString('latin1') as ByteString;
  const known = entries.get(name);
  if (known !== undefined) return known;
  const entry: Entry = { key, changed: false, record: undefined, storedBytes: 0 };
  entries.set(name, entry);
  return entry;
}

function read(entry: Entry, source: RecordSource): Uint8Array | undefined {
  const stored = source.read(entry.key);
  entry.storedBytes = stored?.byteLength ?? 0;
  return stored;
}
