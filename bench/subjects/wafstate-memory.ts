import { Collections, openMemory } from 'wafstate';
import type { Subject } from '../subject.js';
import { collectionOperations } from './wafstate-operations.js';

export const memory: Subject = {
  id: 'memory',
  title: 'wafstate memory, TypeScript',
  role: 'wafstate',
  environment: { WAFSTATE_NATIVE: '0' },
  // Ten million records do not fit the heap that Node.js takes by default.
  nodeOptions: ['--expose-gc', '--max-old-space-size=8192'],
  missing: () => undefined,
  open: async () => {
    // Wide bounds: an engine that evicts would do less work than those that keep everything.
    const backend = openMemory({ maxRecords: 2 ** 24, maxBytes: 2 ** 36, cleanupInterval: 0 });
    return collectionOperations(backend, new Collections({ backend }));
  },
};
