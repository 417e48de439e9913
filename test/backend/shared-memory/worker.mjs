// A thread that opens the table and does what its data say, by the built package.
import { parentPort, workerData } from 'node:worker_threads';
import { COLLECTION_SPACES, DEFAULT_LIMITS, openSharedMemory } from 'wafstate';

const { options, key, times, now } = workerData;
const backend = await openSharedMemory(options);
const record = { space: COLLECTION_SPACES.ip, applicationId: '', key };
const writes = [{ record, expect: 'any', mutations: [{ type: 'add', name: 'n', delta: 1n }] }];
for (let i = 0; i < times; i++) {
  await backend.commit(writes, { now, limits: DEFAULT_LIMITS });
  if (i === 100) parentPort?.postMessage('busy');
}
await backend.close();
