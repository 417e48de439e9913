import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { openLmdb } from 'wafstate';
import { scratchDirectory } from '../backend/lmdb/directory.js';
import { IMPLEMENTATIONS } from '../backend/lmdb/implementations.js';

/** Opens and closes as often as it is told, and ends with 1 where it is refused. */
const OPEN_OFTEN = `
  const { workerData } = require('node:worker_threads');
  import('wafstate').then(async ({ openLmdb }) => {
    for (let i = 0; i < workerData.times; i++) await (await openLmdb(workerData.open)).close();
  });
`;

describe.each(IMPLEMENTATIONS)('threads of one process, %s', (implementation) => {
  it('open and close at the same time, and are not taken for two copies of the package', async () => {
    const open = { path: join(scratchDirectory(), 'state'), implementation, mapSize: 2 ** 22 } as const;
    await (await openLmdb(open)).close();
    const threads = Array.from({ length: 4 }, () => {
      const worker = new Worker(OPEN_OFTEN, { eval: true, workerData: { open, times: 5 } });
      return new Promise<unknown>((resolve) => {
        worker.on('error', (error) => resolve(error.message));
        worker.on('exit', resolve);
      });
    });
    expect(await Promise.all(threads)).toEqual([0, 0, 0, 0]);
  });
});
