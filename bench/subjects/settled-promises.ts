import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { type ByteString, DEFAULT_LIMITS } from 'wafstate';
import { RequestWriter } from '#dist/record/request.js';
import type { Subject } from '../subject.js';

/** The bytes of one commit in a batch, measured on the request of an ordinary address. */
function requestBytes(): number {
  const record = { space: 1, applicationId: '' as ByteString, key: '10.0.123.123' as ByteString };
  const mutations = [{ type: 'add', name: 'requests' as ByteString, delta: 1n }] as const;
  return new RequestWriter().append([{ record, expect: 'any', mutations }], 0n, DEFAULT_LIMITS);
}

/**
 * The floor of the main thread's work: what arrives while a task is out is settled by the next one, whose buffer goes to the
 * worker and back untouched. It is wafstate's group commit without encoding, LMDB and answers.
 */
export const settledPromises: Subject = {
  id: 'settled-promises',
  title: 'promises settled by pool.run',
  role: 'bound',
  missing: () => undefined,
  open: async () => {
    const pool = new Piscina<ArrayBuffer, ArrayBuffer>({
      filename: fileURLToPath(new URL('./echo-worker.js', import.meta.url)),
      minThreads: 1,
      maxThreads: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
    });
    const bytes = requestBytes();
    let waiting: (() => void)[] = [];
    let out = false;
    const send = async (): Promise<void> => {
      out = true;
      while (waiting.length > 0) {
        const settled = waiting;
        waiting = [];
        const buffer = new ArrayBuffer(settled.length * bytes);
        await pool.run(buffer, { transferList: [buffer] });
        for (const settle of settled) settle();
      }
      out = false;
    };
    return {
      operations: {
        commit: () =>
          new Promise<void>((resolve, reject) => {
            waiting.push(resolve);
            if (!out) queueMicrotask(() => void (out || send().catch(reject)));
          }),
      },
      close: () => pool.destroy(),
    };
  },
};
