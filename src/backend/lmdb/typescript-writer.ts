import { statfsSync } from 'node:fs';
import type { CleanupBudget } from '../../contract/backend.js';
import type { ByteString } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';
import { BatchExecutor, nextRevision } from '../../record/batch.js';
import { NO_MUTATION, type Refusal, Status } from '../../record/status.js';
import { TransactionGate } from './exit-guard.js';
import { REVISION_KEY, WRITER_KEY_PREFIX } from './layout.js';
import type { OnConflict, RestoreAnswer } from './native-addon.js';
import { Restorer } from './restore.js';
import { MapGrown, Room } from './room.js';
import { readRevision } from './typescript-environment.js';
import { type OpenedByPackage, openByPackage } from './typescript-opening.js';
import { sweepSlice } from './typescript-sweep.js';
import { encodeWriterNote } from './writer-note.js';
import type { SweepAnswer, Writer, WriterSetup } from './writer-task.js';

/**
 * Write transactions made of JavaScript. The catch: a thread that dies inside one hangs every writer of every process. So
 * requests are read and checked before it begins, nothing in it waits or can exit, and `TransactionGate` keeps an exit
 * of the process from ending the thread there.
 */
export class TypeScriptWriter implements Writer {
  readonly #opened: OpenedByPackage;
  readonly #transactions: TransactionGate;
  readonly #room: Room;
  readonly #mapSize: number;
  readonly #noteKey: ByteString;
  readonly #directory: string;

  private constructor(opened: OpenedByPackage, transactions: TransactionGate, setup: WriterSetup) {
    this.#opened = opened;
    this.#transactions = transactions;
    this.#room = new Room(opened.data, setup.mapSize);
    this.#mapSize = setup.mapSize;
    this.#directory = setup.directory;
    this.#noteKey = (WRITER_KEY_PREFIX + setup.writerName) as ByteString;
  }

  static async open(setup: WriterSetup): Promise<TypeScriptWriter> {
    const transactions = new TransactionGate(setup.guards);
    const opened = await openByPackage(setup, true, (action) => transactions.require(action));
    const writer = new TypeScriptWriter(opened, transactions, setup);
    writer.#noteFirst();
    return writer;
  }

  execute(sequence: number, batch: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
    const executor = new BatchExecutor(batch);
    try {
      this.#requireDiskSpace(batch.byteLength);
      const done = this.#write(() => {
        this.#apply(executor, sequence);
        return true;
      });
      return done === true ? (executor.reply() as Buffer<ArrayBuffer>) : undefined;
    } catch (error) {
      // The transaction is rolled back: the answers say so instead of what they would have been.
      const refusal = refusalOf(error, this.#mapSize);
      for (let request = 0; request < executor.requests; request++) executor.refuse(request, refusal);
      executor.execute({ read: () => undefined, takeRevision: () => 1 });
      return executor.reply() as Buffer<ArrayBuffer>;
    }
  }

  cleanup(now: bigint, budget: CleanupBudget, interval: bigint): SweepAnswer {
    const { data } = this.#opened;
    this.#requireDiskSpace(0);
    const answer = this.#write(() =>
      sweepSlice(data, now, budget, interval, (changes) => this.#room.fits(changes, true)),
    );
    return (
      answer ?? { skipped: true, recordsExamined: 0, recordsRemoved: 0, variablesRemoved: 0, wrapped: false }
    );
  }

  restore(records: Uint8Array, onConflict: OnConflict, now: bigint): RestoreAnswer {
    // Decoded before the transaction begins: what is no record must not be found inside it.
    const restorer = new Restorer(records);
    const { data } = this.#opened;
    const answer = this.#write(() => {
      const result = restorer.run(data, onConflict, now, (changes) => this.#room.fits(changes, false));
      this.#room.requireUngrown();
      return result;
    });
    if (answer === undefined)
      throw new WafStateError('closed', 'the process is about to exit; nothing was restored');
    if (answer === 'full') {
      throw new WafStateError(
        'capacity_exceeded',
        `the map of ${this.#mapSize} bytes has no room for the records; open with a larger mapSize`,
        { details: { option: 'mapSize', limit: this.#mapSize } },
      );
    }
    return answer;
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#opened.data.sync((error) => (error === undefined || error === null ? resolve() : reject(error)));
    });
  }

  async close(): Promise<void> {
    const { data, gate } = this.#opened;
    this.#write(() => data.removeSync(this.#noteKey));
    await this.sync();
    await data.close();
    await gate.close();
  }

  /**
   * Refuses before the disk is full to the last block: told of a write that failed, the `lmdb` package writes a text beyond the end of a
   * heap block, which takes the process down sooner or later. Who fills the disk within the transaction still brings that about.
   */
  #requireDiskSpace(batchBytes: number): void {
    const { bavail, bsize } = statfsSync(this.#directory);
    if (bavail * bsize < DISK_MARGIN_BYTES + 4 * batchBytes) throw new DiskFull('no space left on the disk');
  }

  /** So that a note that is not there always means that somebody took it away. */
  #noteFirst(): void {
    const { data } = this.#opened;
    const note = encodeWriterNote({ sequence: 0, written: Date.now(), applied: new Uint8Array(0) });
    this.#write(() => {
      if (data.getBinaryFast(this.#noteKey) === undefined) data.putSync(this.#noteKey, note);
    });
  }

  #write<T>(action: () => T): T | undefined {
    const { data, gate } = this.#opened;
    return this.#transactions.run(() => gate.inside(() => data.transactionSync(action)));
  }

  #apply(executor: BatchExecutor, sequence: number): void {
    const { data } = this.#opened;
    let revision = readRevision(data.getBinaryFast(REVISION_KEY));
    const source = {
      read(key: Buffer): Uint8Array | undefined {
        const value = data.getBinaryFast(key);
        return value?.subarray(0, value.length);
      },
      takeRevision(): number {
        revision = nextRevision(revision);
        return revision;
      },
    };
    executor.execute(source);
    const changes = this.#room.fit(executor, () => executor.execute(source));
    if (changes.length === 0 && !executor.gaveRevisions) return;
    for (const { key, record } of changes) {
      if (record === undefined) data.removeSync(key);
      else data.putSync(key, record);
    }
    const newest = Buffer.allocUnsafeSlow(8);
    newest.writeBigUInt64LE(BigInt(revision));
    data.putSync(REVISION_KEY, newest);
    const applied = Uint8Array.from({ length: executor.requests }, (_, request) =>
      executor.applied(request) ? 1 : 0,
    );
    data.putSync(this.#noteKey, encodeWriterNote({ sequence, written: Date.now(), applied }));
    this.#room.requireUngrown();
  }
}

const DISK_MARGIN_BYTES = 2 ** 20;
const ENOSPC = 28;

class DiskFull extends Error {
  readonly code = ENOSPC;
}

/** Errors of the package carry LMDB's code or the errno; 5 and 28 are what a full or broken disk gives. */
function refusalOf(error: unknown, mapSize: number): Refusal {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : 0;
  const base = { write: 0, mutation: NO_MUTATION, limit: 0 };
  if (error instanceof MapGrown) return { ...base, status: Status.mapFull, limit: mapSize, actual: 0 };
  if (code === 5 || code === 28) return { ...base, status: Status.diskFull, actual: code };
  return { ...base, status: Status.engineError, actual: code };
}
