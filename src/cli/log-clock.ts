import { Collections } from '../collections/collections.js';
import type { Backend } from '../contract/backend.js';
import { type ByteString, encodeText } from '../contract/bytes.js';
import { INT64_MAX, SECOND } from '../contract/clock.js';
import { DEFAULT_LIMITS } from '../contract/limits.js';
import { COLLECTION_SPACES, type RecordName } from '../contract/space.js';
import { REPLAY_APPLICATION } from './judge.js';
import { isoTime } from './terminal.js';

/** A log may be this much older than the state before it counts as a mistake, in nanoseconds. */
const TOLERANCE = 600n * SECOND;

const RECORD: RecordName = {
  space: COLLECTION_SPACES.global,
  applicationId: REPLAY_APPLICATION as ByteString,
  key: encodeText('log-clock') as ByteString,
};
const NEWEST = 'newest' as ByteString;

/** The state and the log do not belong together; the message names both and the way out. */
export class LogClockError extends Error {}

/** The newest time that earlier runs have seen; undefined where the state is empty or not a replay's. */
export async function loadLogClock(backend: Backend): Promise<bigint | undefined> {
  const snapshot = await backend.load(RECORD, 0n, DEFAULT_LIMITS);
  const newest = snapshot.variables.get(NEWEST)?.value;
  return newest === undefined ? undefined : BigInt(newest);
}

export async function saveLogClock(backend: Backend, newest: bigint): Promise<void> {
  const collections = new Collections({
    backend,
    applicationId: REPLAY_APPLICATION,
    clock: { now: () => newest },
  });
  using tx = collections.begin();
  await tx.bind('global', 'log-clock');
  tx.set('global', NEWEST, String(newest));
  await tx.processLogging();
}

/** Refuses state that live traffic made: a replay's clock would end or revive its blocks, and `--again` remove them. */
export async function refuseLiveState(backend: Backend): Promise<void> {
  let after: RecordName | undefined;
  for (;;) {
    const page = await backend.scan({ now: -INT64_MAX, limit: 1, hidden: true, after });
    const record = page.entries[0]?.record;
    if (record === undefined) return;
    if (record.applicationId !== REPLAY_APPLICATION) {
      throw new LogClockError(
        'this directory holds state that no replay made, and a log clock would judge it wrongly; give replay a directory of its own with --path',
      );
    }
    // One look at each collection: behind the last key that a replay can have in it.
    after = { ...record, key: '\xff'.repeat(DEFAULT_LIMITS.keyBytes) as ByteString };
  }
}

/** Refuses a log that begins well before the state it would be counted into. */
export function refuseOlderLog(first: bigint, saved: bigint): void {
  if (first >= saved - TOLERANCE) return;
  throw new LogClockError(
    `the log begins at ${isoTime(first)}, but the state has already seen ${isoTime(saved)}: counting it again would count it twice; continue with a later log, or start fresh with --again`,
  );
}

/** Removes every record. REQUIRES: `refuseLiveState` has passed. */
export async function forget(backend: Backend): Promise<void> {
  const query = { now: -INT64_MAX, limit: 1000, hidden: true } as const;
  for (;;) {
    const { entries } = await backend.scan(query);
    if (entries.length === 0) return;
    await Promise.all(
      entries.map(({ record }) =>
        backend.commit([{ record, expect: 'any', mutations: [{ type: 'removeRecord' }] }], {
          now: 0n,
          limits: DEFAULT_LIMITS,
        }),
      ),
    );
  }
}
