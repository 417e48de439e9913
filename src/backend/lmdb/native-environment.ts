import type { ByteString } from '../../contract/bytes.js';
import { INT64_MIN } from '../../contract/clock.js';
import type { WafStateError } from '../../contract/errors.js';
import { corruptRecord } from '../../record/refusal.js';
import type { BatchFate, Environment, EnvironmentStats, StoredPage } from './environment.js';
import { type NativeEnvironmentAddon, SCAN_EXCLUSIVE } from './native-addon.js';
import { nativeError } from './native-failure.js';
import type { WriterSetup } from './writer-task.js';

const FIRST_SCRATCH_BYTES = 64 * 1024;
/** The watch over the writer has declared it lost by the time that its wait for a lock ends by itself. */
const LOCK_GRACE_MILLISECONDS = 1000;

const PAGE_HEADER_BYTES = 12;
const ENTRY_HEADER_BYTES = 8;

/** Opens what `preflight` has checked, for one thread. Throws a typed error. */
export function openNatively(
  addon: NativeEnvironmentAddon,
  setup: Omit<WriterSetup, 'implementation' | 'gate' | 'writerName' | 'writerNumber' | 'guards'>,
  readOnly: boolean,
): number {
  const { directory, mapSize, maxReaders, mode, durability, writerTimeout } = setup;
  const handle = addon.environmentOpen({
    path: directory,
    mapSize,
    maxReaders,
    mode,
    waitMilliseconds: writerTimeout + LOCK_GRACE_MILLISECONDS,
    relaxed: durability === 'relaxed',
    readOnly,
  });
  if (handle < 0) throw nativeError(addon.environmentFailure());
  return handle;
}

/** Reads by the addon: key in and record out through one buffer, one call a record. */
export class NativeEnvironment implements Environment {
  readonly implementation = 'native';
  readonly #addon: NativeEnvironmentAddon;
  readonly #handle: number;
  readonly #writer: bigint;
  #scratch = Buffer.allocUnsafeSlow(FIRST_SCRATCH_BYTES);

  constructor(addon: NativeEnvironmentAddon, handle: number, writer: bigint) {
    this.#addon = addon;
    this.#handle = handle;
    this.#writer = writer;
  }

  load(key: ByteString): Uint8Array | undefined {
    for (;;) {
      const scratch = this.#scratch;
      const keyLength = scratch.write(key, 0, 'latin1');
      // Timed out or not is for the caller to tell: it may want to see hidden records.
      const length = this.#addon.environmentLoad(this.#handle, scratch, keyLength, INT64_MIN);
      if (length < 0) throw this.#failure();
      if (length === 0) return undefined;
      if (length <= scratch.length) return scratch.subarray(0, length);
      this.#grow(length);
    }
  }

  page(from: ByteString, exclusive: boolean, prefix: ByteString, limit: number): StoredPage {
    for (;;) {
      const scratch = this.#scratch;
      const fromLength = scratch.write(from, 0, 'latin1');
      const prefixLength = scratch.write(prefix, fromLength, 'latin1');
      const flags = exclusive ? SCAN_EXCLUSIVE : 0;
      const length = this.#addon.environmentScan(
        this.#handle,
        scratch,
        fromLength,
        prefixLength,
        limit,
        flags,
      );
      if (length < 0) throw this.#failure();
      if (length <= scratch.length) return readPage(scratch);
      this.#grow(length);
    }
  }

  stats(): EnvironmentStats {
    const stats = this.#addon.environmentStats(this.#handle);
    if (typeof stats === 'number') throw this.#failure();
    const {
      relaxed,
      mapSize,
      pageSize,
      usedPages,
      freePages,
      fileBytes,
      records,
      readers,
      maxReaders,
      revision,
    } = stats;
    const durability = relaxed ? 'relaxed' : 'durable';
    return {
      mapSize,
      pageSize,
      usedPages,
      freePages,
      fileBytes,
      records,
      readers,
      maxReaders,
      revision,
      durability,
    };
  }

  fate(sequence: number): BatchFate {
    const reply = this.#addon.environmentLastReply(this.#handle, this.#writer, sequence);
    if (typeof reply !== 'number') return { type: 'replied', reply: new Uint8Array(reply) };
    if (reply === 0) return { type: 'not_executed' };
    return reply === 1 ? { type: 'executing' } : { type: 'unknown' };
  }

  async close(): Promise<void> {
    this.#addon.environmentForgetWriter(this.#handle, this.#writer);
    this.#addon.environmentClose(this.#handle);
  }

  #grow(bytes: number): void {
    this.#scratch = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)));
  }

  #failure(): WafStateError {
    return nativeError(this.#addon.environmentFailure());
  }
}

/** The grammar stands at `environmentScan`. */
function readPage(scratch: Buffer): StoredPage {
  const count = scratch.readUInt32LE(0);
  const end = scratch.readUInt8(8) === 1;
  const lastLength = scratch.readUInt16LE(10);
  let at = PAGE_HEADER_BYTES;
  const last = scratch.toString('latin1', at, at + lastLength) as ByteString;
  at += lastLength;
  const entries: { key: ByteString; record: Uint8Array | WafStateError }[] = [];
  for (let i = 0; i < count; i++) {
    const reason = scratch.readUInt8(at + 2);
    const keyStart = at + ENTRY_HEADER_BYTES;
    const recordStart = keyStart + scratch.readUInt16LE(at);
    const recordEnd = recordStart + scratch.readUInt32LE(at + 4);
    entries.push({
      key: scratch.toString('latin1', keyStart, recordStart) as ByteString,
      record: reason === 0 ? Buffer.from(scratch.subarray(recordStart, recordEnd)) : corruptRecord(reason),
    });
    at = recordEnd;
  }
  return { entries, next: end || lastLength === 0 ? undefined : last };
}
