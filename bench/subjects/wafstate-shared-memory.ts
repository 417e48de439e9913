import { Collections, nativeStatus, openSharedMemory } from 'wafstate';
import type { Subject } from '../subject.js';
import { collectionOperations } from './wafstate-operations.js';

export const sharedMemory: Subject = {
  id: 'shared-memory',
  title: 'wafstate shared memory, native',
  role: 'wafstate',
  environment: { WAFSTATE_NATIVE: 'require' },
  nodeOptions: ['--expose-gc'],
  missing: () => {
    const status = nativeStatus();
    return status.loaded ? undefined : `the addon is not loaded: ${status.reason}`;
  },
  open: async () => {
    // Wide bounds: an engine that evicts would do less work than those that keep everything.
    const backend = await openSharedMemory({
      name: 'bench',
      maxRecords: 2 ** 24,
      maxBytes: 2 ** 34,
      cleanupInterval: 0,
    });
    return collectionOperations(backend, new Collections({ backend }));
  },
};
