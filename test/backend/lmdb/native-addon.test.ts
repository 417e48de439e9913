import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ENVIRONMENT_KEY, GATE_DIRECTORY } from '../../../src/backend/lmdb/layout.js';
import {
  NATIVE_FAILURE,
  type NativeEnvironmentAddon,
  type NativeOpenOptions,
  SCAN_EXCLUSIVE,
} from '../../../src/backend/lmdb/native-addon.js';
import type { ByteString } from '../../../src/contract/bytes.js';
import { loadAddon, nativeStatus } from '../../../src/record/addon.js';
import { encodeKey } from '../../../src/record/key.js';
import { RequestWriter } from '../../../src/record/request.js';

const addon = loadAddon<NativeEnvironmentAddon>();
const NOW = 1_000_000_000n;
const WRITER = 7n;

const record = (key: string) => ({ space: 1, applicationId: '' as ByteString, key: key as ByteString });

/** A batch that adds 1 to each of these records. */
function increments(...keys: string[]): Uint8Array {
  const writer = new RequestWriter();
  for (const key of keys) {
    writer.append(
      [
        {
          record: record(key),
          expect: 'any',
          mutations: [{ type: 'add', name: 'n' as ByteString, delta: 1n }],
        },
      ],
      NOW,
      { variables: 4096, recordBytes: 2 ** 21 },
    );
  }
  return writer.take();
}

describe.skipIf(addon === undefined)(
  `environments of the addon (${nativeStatus().reason ?? 'loaded'})`,
  () => {
    const native = addon as NativeEnvironmentAddon;
    let path: string;
    let options: NativeOpenOptions;

    beforeEach(() => {
      path = mkdtempSync(join(tmpdir(), 'wafstate-native-'));
      mkdirSync(join(path, GATE_DIRECTORY));
      options = {
        path,
        mapSize: 2 ** 24,
        maxReaders: 32,
        mode: 0o600,
        waitMilliseconds: 0,
        relaxed: true,
        readOnly: false,
      };
    });
    afterEach(() => rmSync(path, { recursive: true }));

    function load(handle: number, key: string): Buffer {
      const scratch = Buffer.allocUnsafeSlow(4096);
      const keyLength = encodeKey(record(key)).copy(scratch);
      return scratch.subarray(0, native.environmentLoad(handle, scratch, keyLength, NOW));
    }

    /** The one integer of a record, which stands before the checksum. */
    const counter = (handle: number, key: string): bigint =>
      load(handle, key).readBigInt64LE(load(handle, key).length - 12);

    it('throws a TypeError for an argument of the wrong type, and nothing else', () => {
      const handle = native.environmentOpen(options);
      const calls: [string, (...values: never[]) => unknown, unknown[]][] = [
        ['open', native.environmentOpen, [{ ...options, mapSize: '1' }]],
        ['open', native.environmentOpen, []],
        ['isOpen', native.environmentIsOpen, [1]],
        ['close', native.environmentClose, ['1']],
        ['execute', native.environmentExecute, [handle, 7, 1, new Uint8Array()]],
        ['execute', native.environmentExecute, [handle, WRITER, -1, new Uint8Array()]],
        ['execute', native.environmentExecute, [handle, WRITER, 1, 'batch']],
        ['load', native.environmentLoad, [handle, new Uint8Array(4), 5, NOW]],
        ['load', native.environmentLoad, [handle, new Uint8Array(4), 4, 2n ** 64n]],
        ['scan', native.environmentScan, [handle, new Uint8Array(4), 2, 3, 1, 0]],
        ['cleanup', native.environmentCleanup, [handle, NOW, 1.5, 1, 0n]],
      ];
      for (const [name, call, values] of calls)
        expect(() => call(...(values as never[])), name).toThrow(TypeError);
      expect(native.environmentClose(handle)).toBe(0);
    });

    it('answers every call on a closed handle with that', () => {
      const handle = native.environmentOpen(options);
      expect(native.environmentIsOpen(path)).toBe(true);
      expect(native.environmentClose(handle)).toBe(0);
      expect(native.environmentClose(handle)).toBe(0);
      expect(native.environmentIsOpen(path)).toBe(false);
      const scratch = new Uint8Array(4096);
      const closed = -NATIVE_FAILURE.closed;
      expect(native.environmentExecute(handle, WRITER, 1, increments('a'))).toBe(closed);
      expect(native.environmentLastReply(handle, WRITER, 1)).toBe(closed);
      expect(native.environmentForgetWriter(handle, WRITER)).toBe(closed);
      expect(native.environmentSync(handle)).toBe(closed);
      expect(native.environmentLoad(handle, scratch, 3, NOW)).toBe(closed);
      expect(native.environmentLoadRaw(handle, scratch, 3)).toBe(closed);
      expect(native.environmentDelete(handle, scratch, 3)).toBe(closed);
      expect(native.environmentScan(handle, scratch, 0, 0, 1, SCAN_EXCLUSIVE)).toBe(closed);
      expect(native.environmentStats(handle)).toBe(closed);
      expect(native.environmentCleanup(handle, NOW, 1, 1, 0n)).toBe(closed);
      expect(native.environmentFailure().failure).toBe(NATIVE_FAILURE.closed);
    });

    it('refuses writes on a handle opened read-only, also where others write', () => {
      const writing = native.environmentOpen(options);
      const reading = native.environmentOpen({ ...options, readOnly: true });
      expect(native.environmentExecute(reading, WRITER, 1, increments('a'))).toBe(-NATIVE_FAILURE.read_only);
      expect(native.environmentExecute(writing, WRITER, 1, increments('a'))).toBeInstanceOf(ArrayBuffer);
      expect(counter(reading, 'a')).toBe(1n);
      native.environmentClose(writing);
      native.environmentClose(reading);
    });

    it('shares its files with the lmdb package, both ways', async () => {
      let handle = native.environmentOpen(options);
      native.environmentExecute(handle, WRITER, 1, increments('a', 'b', 'a'));
      const bytes = Buffer.from(load(handle, 'a'));
      native.environmentClose(handle);

      const db = open<Buffer, Buffer>({
        path,
        noSubdir: false,
        overlappingSync: false,
        noSync: true,
        encoding: 'binary',
        keyEncoding: 'binary',
      });
      expect(db.get(Buffer.from(ENVIRONMENT_KEY, 'latin1'))).toEqual(Buffer.from('WE\x01\x02'));
      expect(db.get(encodeKey(record('a')))).toEqual(bytes);
      db.transactionSync(() => {
        db.putSync(encodeKey(record('b')), bytes.subarray(0, 20));
        db.removeSync(encodeKey(record('a')));
      });
      await db.close();

      handle = native.environmentOpen(options);
      expect(load(handle, 'a').length).toBe(0);
      const scratch = new Uint8Array(4096);
      const keyLength = encodeKey(record('b')).copy(scratch);
      expect(native.environmentLoad(handle, scratch, keyLength, NOW)).toBe(-NATIVE_FAILURE.corrupt);
      expect(native.environmentLoadRaw(handle, scratch, keyLength)).toBe(20);
      native.environmentClose(handle);
    });

    it('is not harmed by a worker that is terminated at any moment', async () => {
      const handle = native.environmentOpen(options);
      const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      const addon = require(workerData.addon);
      const handle = addon.environmentOpen(workerData.options);
      for (let sequence = 1; ; sequence++) {
        Atomics.store(workerData.begun, 0, sequence);
        addon.environmentExecute(handle, workerData.writer, sequence, workerData.batch);
      }`;
      let executed = 0n;
      for (let round = 0; round < 10; round++) {
        const begun = new Int32Array(new SharedArrayBuffer(4));
        const workerData = {
          addon: nativeStatus().path,
          options,
          begun,
          batch: increments('a', 'a'),
          writer: BigInt(round),
        };
        const worker = new Worker(source, { eval: true, workerData });
        while (Atomics.load(begun, 0) < 2 + round) await new Promise((resolve) => setTimeout(resolve, 1));
        await worker.terminate();
        const last = Atomics.load(begun, 0);
        const reply = native.environmentLastReply(handle, BigInt(round), last);
        executed += BigInt(reply instanceof ArrayBuffer ? last : last - 1);
        expect(counter(handle, 'a')).toBe(2n * executed);
        expect(native.environmentForgetWriter(handle, BigInt(round))).toBe(0);
      }
      // Its handles and its readers' slots came back.
      const stats = native.environmentStats(handle);
      expect(stats).toMatchObject({ records: 1, readers: 1 });
      native.environmentClose(handle);
      expect(native.environmentIsOpen(path)).toBe(false);
    });
  },
);
