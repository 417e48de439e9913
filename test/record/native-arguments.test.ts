import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { loadAddon, nativeStatus } from '../../src/record/addon.js';

/** The functions of native/addon/record.cc, called as nobody should. */
interface Untyped {
  recordApply(...args: unknown[]): unknown;
  recordDecode(...args: unknown[]): unknown;
  recordEncode(...args: unknown[]): unknown;
  recordCheck(...args: unknown[]): unknown;
}

const addon = loadAddon<Untyped>();
const bytes = new Uint8Array(4);
const record = {
  space: 1,
  applicationId: 'shop',
  key: 'k',
  revision: 1,
  created: 1n,
  updated: 1n,
  updateCount: 1,
  timeout: undefined,
  names: ['a'],
  values: ['1'],
  deadlines: [undefined],
  clocks: [1n],
};

describe.skipIf(addon === undefined)(`arguments of the addon (${nativeStatus().reason ?? 'loaded'})`, () => {
  const native = addon as Untyped;

  it.each([
    ['nothing', []],
    ['a number as record', [1, bytes, 1]],
    ['null as record', [null, bytes, 1]],
    ['another typed array', [new Uint16Array(4), bytes, 1]],
    ['a DataView', [undefined, new DataView(bytes.buffer), 1]],
    ['no revision', [undefined, bytes]],
    ['a fraction', [undefined, bytes, 1.5]],
    ['NaN', [undefined, bytes, Number.NaN]],
    ['2^53', [undefined, bytes, 2 ** 53]],
    ['a bigint as revision', [undefined, bytes, 1n]],
  ])('recordApply refuses %s', (_, args) => {
    expect(() => native.recordApply(...args)).toThrow(TypeError);
  });

  it.each([[undefined], [null], ['bytes'], [{ length: 4 }], [[1, 2]], [bytes.buffer]])(
    'recordDecode and recordCheck refuse %s',
    (value) => {
      expect(() => native.recordDecode(value)).toThrow(TypeError);
      expect(() => native.recordCheck(value)).toThrow(TypeError);
    },
  );

  it.each([
    ['no object', undefined],
    ['an empty object', {}],
    ['a space beyond a byte', { ...record, space: 256 }],
    ['a long application id', { ...record, applicationId: 'a'.repeat(256) }],
    ['text that is no bytes', { ...record, key: '€' }],
    ['an update count beyond 48 bits', { ...record, updateCount: 2 ** 48 }],
    ['a time beyond 64 bits', { ...record, created: 2n ** 63n }],
    ['a time as number', { ...record, updated: 1 }],
    ['a name that is none', { ...record, names: [1] }],
    ['names that are no array', { ...record, names: { length: 1, 0: 'a' } }],
    ['too many names', { ...record, names: new Array(65_536).fill('a') }],
    ['a value that is none', { ...record, values: [1] }],
  ])('recordEncode refuses %s', (_, value) => {
    expect(() => native.recordEncode(value)).toThrow(TypeError);
  });

  it('recordEncode passes on what a getter throws', () => {
    const trap = {
      ...record,
      get key() {
        throw new RangeError('from the getter');
      },
    };
    expect(() => native.recordEncode(trap)).toThrow(new RangeError('from the getter'));
  });

  it.each([
    ['names out of order', { names: ['b', 'a'], values: ['1', '1'], deadlines: [], clocks: [1n, 1n] }, 16],
    ['a value without a clock', { clocks: [] }, 17],
    ['a clock without a value', { values: [], deadlines: [5n] }, 14],
    ['neither value nor deadline', { values: [], clocks: [] }, 14],
    ['an empty name', { names: [''] }, 12],
    ['revision 0', { revision: 0 }, 8],
    ['an empty key', { key: '' }, 7],
  ])('recordEncode names the reason against %s', (_, change, reason) => {
    expect(native.recordEncode({ ...record, ...change })).toBe(reason);
  });

  it('takes bytes whose buffer is gone as empty', () => {
    const detached = new Uint8Array(64);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    expect(native.recordCheck(detached)).toBe(1);
  });

  it('serves threads that come and go', async () => {
    const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      const addon = require(workerData.path);
      for (let i = 0; i < 1000; i++) addon.recordApply(undefined, new Uint8Array(20), 1);
      const bytes = addon.recordEncode(workerData.record);
      parentPort.postMessage(addon.recordDecode(bytes).key);
      setInterval(() => addon.recordCheck(bytes), 0);`;
    const workerData = { path: nativeStatus().path, record };
    const workers = Array.from({ length: 4 }, () => new Worker(source, { eval: true, workerData }));
    const keys = await Promise.all(
      workers.map(
        (worker) =>
          new Promise((resolve, reject) => {
            worker.once('message', resolve);
            worker.once('error', reject);
          }),
      ),
    );
    await Promise.all(workers.map((worker) => worker.terminate()));
    expect(keys).toEqual(['k', 'k', 'k', 'k']);
  });
});
