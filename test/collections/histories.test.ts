import { describe, test } from 'vitest';
import { openMemory } from '../../src/backend/memory/memory.js';
import { Collections } from '../../src/collections/index.js';
import { FaultBackend, OPTIMISTIC, REBASING } from './fault-backend.js';
import { checkHistories } from './history.js';

describe('random histories are those of the model', () => {
  test.each([
    ['memory', openMemory({ cleanupInterval: 0 })],
    ['a rebasing engine', new FaultBackend(REBASING)],
    ['an optimistic engine', new FaultBackend(OPTIMISTIC)],
  ])('%s', async (_, backend) => {
    await checkHistories((clock) => new Collections({ backend, clock, limits: { retryAttempts: 50 } }), 100);
    await backend.close();
  });
});
