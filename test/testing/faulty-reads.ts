import {
  type Backend,
  type ByteString,
  type CleanupBudget,
  DEFAULT_LIMITS,
  decodeText,
  encodeText,
  type Feature,
  type RecordName,
  type ScanQuery,
  type Snapshot,
} from 'wafstate';
import { altered, type Mutant, rewriting } from './mutants.js';

/** An engine that loads something else, by both ways. */
function reading(
  sound: Backend,
  alter: (snapshot: Snapshot, record: RecordName, now: bigint) => Snapshot,
): Backend {
  return altered(sound, {
    load: async (record, now, limits, hidden) =>
      alter(await sound.load(record, now, limits, hidden), record, now),
    loadSync: (record, now, limits, hidden) => {
      if (sound.loadSync === undefined) throw new TypeError('the sound engine must load synchronously');
      return alter(sound.loadSync(record, now, limits, hidden), record, now);
    },
  });
}

/** An engine that takes several names for one record. */
function confusing(sound: Backend, rename: (record: RecordName) => RecordName): Backend {
  const renamed = rewriting(sound, (write) => ({ ...write, record: rename(write.record) }));
  return altered(renamed, { load: (record, ...rest) => sound.load(rename(record), ...rest) });
}

function idOf(record: RecordName): string {
  return JSON.stringify(record);
}

/** Cleans up the first page of a scan from `after()` on, as an engine would that finds its place in a wrong way. */
async function cleanPage(sound: Backend, now: bigint, budget: CleanupBudget, after: RecordName | undefined) {
  const query: ScanQuery = { now, after, hidden: true, limit: budget.records };
  const { entries, next } = await sound.scan(query);
  let removed = 0;
  for (const { record, snapshot } of entries) {
    const { timeout, updated } = snapshot?.facts ?? {};
    if (timeout === undefined || updated === undefined || updated + timeout > now) continue;
    const write = { record, expect: 'any', mutations: [{ type: 'removeRecord' }] } as const;
    await sound.commit([write], { now, limits: DEFAULT_LIMITS });
    removed++;
  }
  return { next, result: { recordsExamined: entries.length, recordsRemoved: removed, variablesRemoved: 0 } };
}

/** Faults of `load`, `cleanup`, `scan`, `close`, and of what all of them share. */
export const FAULTY_READS: readonly Mutant[] = [
  {
    fault: 'shows hidden variables',
    area: 'expiry',
    make: (sound) => altered(sound, { load: (record, now, limits) => sound.load(record, now, limits, true) }),
  },
  {
    fault: 'does not show hidden variables when asked',
    area: 'loading',
    make: (sound) => altered(sound, { load: (record, now, limits) => sound.load(record, now, limits) }),
  },
  {
    fault: 'reads one commit behind',
    area: 'loading',
    make: (sound) => {
      const before = new Map<string, Snapshot>();
      return altered(sound, {
        load: async (record, now, limits, hidden) =>
          before.get(idOf(record)) ?? sound.load(record, now, limits, hidden),
        commit: async (writes, options) => {
          for (const { record } of writes) {
            before.set(idOf(record), await sound.load(record, options.now, options.limits));
          }
          return sound.commit(writes, options);
        },
      });
    },
  },
  {
    fault: 'gives variables in the order of writing',
    area: 'loading',
    make: (sound) =>
      reading(sound, (snapshot) => ({ ...snapshot, variables: new Map([...snapshot.variables].reverse()) })),
  },
  {
    fault: 'does not renew the timeout',
    area: 'timeout',
    make: (sound) =>
      reading(sound, (snapshot, _, now) => {
        const { created, timeout } = snapshot.facts ?? {};
        if (created === undefined || timeout === undefined || created + timeout > now) return snapshot;
        return { revision: 0, facts: undefined, variables: new Map() };
      }),
  },
  {
    fault: 'counts revisions from 1 again when a record is made anew',
    area: 'revisions',
    make: (sound) =>
      reading(
        altered(sound, {
          commit: async (writes, options) => {
            const results = await sound.commit(writes, options);
            const counts = writes.map(({ record }) => sound.load(record, options.now, options.limits));
            const snapshots = await Promise.all(counts);
            return results.map((result, index) => ({
              ...result,
              revision: snapshots[index]?.facts?.updateCount ?? 0,
            }));
          },
        }),
        (snapshot) => ({ ...snapshot, revision: snapshot.facts?.updateCount ?? 0 }),
      ),
  },
  {
    fault: 'does not give a record that cleanup has changed a new revision',
    area: 'cleanup',
    make: (sound) => {
      const told = new Map<string, number>();
      const noting = altered(sound, {
        commit: async (writes, options) => {
          const results = await sound.commit(writes, options);
          for (const [index, { record }] of writes.entries())
            told.set(idOf(record), results[index]?.revision ?? 0);
          return results;
        },
      });
      return altered(noting, {
        load: async (record, now, limits, hidden) => {
          const snapshot = await sound.load(record, now, limits, hidden);
          return snapshot.revision === 0 ? snapshot : { ...snapshot, revision: told.get(idOf(record)) ?? 0 };
        },
      });
    },
  },
  {
    fault: 'never cleans up beyond the first records',
    area: 'cleanup',
    rule: 'comes to every record, though most are live and the budget is one',
    make: (sound) =>
      altered(sound, {
        cleanup: async (now, budget) => {
          const { result } = await cleanPage(sound, now, budget, undefined);
          return { ...result, wrapped: true };
        },
      }),
  },
  {
    fault: 'begins its cleanup anew whenever a record was made',
    area: 'cleanup',
    rule: 'starves no record while others come and go',
    make: (sound) => {
      let after: RecordName | undefined;
      return altered(sound, {
        commit: async (writes, options) => {
          const results = await sound.commit(writes, options);
          if (results.some(({ existed }) => !existed)) after = undefined;
          return results;
        },
        cleanup: async (now, budget) => {
          const { result, next } = await cleanPage(sound, now, budget, after);
          after = next;
          return { ...result, wrapped: next === undefined };
        },
      });
    },
  },
  {
    fault: 'cleans up everything at once, whatever the budget',
    area: 'cleanup',
    make: (sound) =>
      altered(sound, { cleanup: (now) => sound.cleanup(now, { records: 1_000_000, variables: 1_000_000 }) }),
  },
  {
    fault: 'skips a record between two pages of a scan',
    area: 'scan',
    make: (sound) =>
      altered(sound, {
        scan: async (query) => {
          const page = await sound.scan(query);
          return query.after === undefined ? page : { ...page, entries: page.entries.slice(1) };
        },
      }),
  },
  {
    fault: 'repeats a record between two pages of a scan',
    area: 'scan',
    make: (sound) =>
      altered(sound, {
        scan: async (query) => {
          const page = await sound.scan(query);
          return page.next === undefined ? page : { ...page, next: page.entries.at(-2)?.record ?? page.next };
        },
      }),
  },
  {
    fault: 'scans in an order of its own',
    area: 'scan',
    make: (sound) =>
      altered(sound, {
        scan: async (query) => {
          const page = await sound.scan(query);
          return { ...page, entries: [...page.entries].reverse() };
        },
      }),
  },
  {
    fault: 'lists timed-out records',
    area: 'scan',
    make: (sound) => altered(sound, { scan: (query) => sound.scan({ ...query, hidden: true }) }),
  },
  {
    fault: 'ignores the prefix of a scan',
    area: 'scan',
    make: (sound) => altered(sound, { scan: (query) => sound.scan({ ...query, prefix: undefined }) }),
  },
  {
    fault: 'stays usable after close',
    area: 'lifecycle',
    make: (sound) => altered(sound, { close: () => Promise.resolve() }),
  },
  {
    fault: 'folds the case of keys',
    area: 'bytes',
    make: (sound) =>
      confusing(sound, (record) => ({ ...record, key: record.key.toLowerCase() as ByteString })),
  },
  {
    fault: 'leaves the application id out of the key',
    area: 'bytes',
    make: (sound) => confusing(sound, (record) => ({ ...record, applicationId: '' as ByteString })),
  },
  {
    fault: 'joins application id and key without a length',
    area: 'bytes',
    make: (sound) =>
      confusing(sound, ({ space, applicationId, key }) => ({
        space,
        applicationId: '' as ByteString,
        key: `${applicationId}${key}`.slice(0, 1024) as ByteString,
      })),
  },
  {
    fault: 'takes values for UTF-8 text',
    area: 'bytes',
    make: (sound) =>
      rewriting(sound, (write) => ({
        ...write,
        mutations: write.mutations.map((mutation) =>
          mutation.type === 'set'
            ? { ...mutation, value: encodeText(decodeText(mutation.value)) ?? mutation.value }
            : mutation,
        ),
      })),
  },
  {
    fault: 'advertises a feature that it does not have',
    area: 'features',
    make: (sound) =>
      altered(sound, { features: new Set<Feature>([...sound.features, 'shared_across_hosts']) }),
  },
  {
    fault: 'speaks another version of the interface',
    area: 'features',
    make: (sound) => altered(sound, { abiVersion: sound.abiVersion + 1 }),
  },
];
