import { Collections, nativeStatus, openLmdb } from 'wafstate';
import type { Instance, OpenOptions, Subject } from '../subject.js';
import { collectionOperations } from './wafstate-operations.js';

/** Commits wait in the queue at up to this many callers in the widest case, with room to spare. */
const QUEUE = 65_536;
const MAP_BYTES = 8 * 2 ** 30;

async function open({ directory, durability }: OpenOptions): Promise<Instance> {
  const backend = await openLmdb({
    path: directory,
    durability,
    mapSize: MAP_BYTES,
    queueRequests: QUEUE,
    cleanupInterval: 0,
  });
  return collectionOperations(backend, new Collections({ backend }));
}

export const lmdbNative: Subject = {
  id: 'lmdb-native',
  title: 'wafstate LMDB, native',
  role: 'wafstate',
  environment: { WAFSTATE_NATIVE: 'require' },
  missing: () => {
    const status = nativeStatus();
    return status.loaded ? undefined : `the addon is not loaded: ${status.reason}`;
  },
  open,
};

export const lmdbTypeScript: Subject = {
  id: 'lmdb-typescript',
  title: 'wafstate LMDB, TypeScript',
  role: 'wafstate',
  environment: { WAFSTATE_NATIVE: '0' },
  missing: () => undefined,
  open,
};
