import { type Backend, type ByteString, type Collections, DEFAULT_LIMITS, systemClock } from 'wafstate';
import type { Operation } from '../load/closed-loop.js';
import type { Instance } from '../subject.js';
import { ruledRequest } from './ruled-request.js';

/** Seconds of every window: longer than any run, so that no counter begins anew under way. */
export const WINDOW_SECONDS = 3600;
/** Out of reach, since a limiter that refuses takes another path, and its peers pay for a rejection there. */
export const LIMIT = 1_000_000_000;

const COUNTER = 'requests' as ByteString;
const NO_APPLICATION = '' as ByteString;
const IP_SPACE = 1;

/** The operations of the cases on any engine of wafstate, written as an application would write them. */
export function collectionOperations(backend: Backend, collections: Collections): Instance {
  const loadSync = backend.loadSync?.bind(backend);
  const name = (key: string) => ({
    space: IP_SPACE,
    applicationId: NO_APPLICATION,
    key: key as ByteString,
  });

  const commit: Operation = (key) =>
    backend.commit(
      [{ record: name(key), expect: 'any', mutations: [{ type: 'add', name: COUNTER, delta: 1n }] }],
      { now: systemClock.now(), limits: DEFAULT_LIMITS },
    );

  const counter: Operation = (key) =>
    collections.increment('ip', key, COUNTER, { window: WINDOW_SECONDS, limit: LIMIT });

  const request: Operation = async (key) => {
    const tx = collections.begin();
    if (loadSync === undefined) {
      await tx.bind('ip', key);
      await tx.bind('global', 'all');
    } else {
      tx.bindSync('ip', key);
      tx.bindSync('global', 'all');
    }
    tx.get('ip', 'blocked');
    tx.get('global', 'alarm');
    tx.add('ip', COUNTER, 1);
    tx.add('global', COUNTER, 1);
    tx.expire('ip', COUNTER, WINDOW_SECONDS);
    const committed = await tx.processLogging();
    tx.close();
    return committed;
  };

  const load: Operation =
    loadSync === undefined
      ? (key) => backend.load(name(key), systemClock.now(), DEFAULT_LIMITS)
      : (key) => {
          loadSync(name(key), systemClock.now(), DEFAULT_LIMITS);
          return undefined;
        };

  return {
    operations: { commit, counter, request, load, ruled_request: ruledRequest(backend) },
    read: async (key) => {
      const { variables } = await backend.load(name(key), systemClock.now(), DEFAULT_LIMITS);
      return Number(variables.get(COUNTER)?.value ?? 0);
    },
    close: () => backend.close(),
  };
}
