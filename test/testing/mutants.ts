import type { Backend, CommitOptions, CommitResult, RecordWrite } from 'wafstate';

/** A sound engine with one thing wrong, and where the suite must notice it. */
export interface Mutant {
  readonly fault: string;
  /** The heading. */
  readonly area: string;
  /** The test, where the fault cannot but fail others under the heading too. */
  readonly rule?: string;
  readonly make: (sound: Backend) => Backend;
}

/** The sound engine with some of its methods replaced. */
export function altered(sound: Backend, changes: Partial<Backend>): Backend {
  return {
    abiVersion: sound.abiVersion,
    name: 'faulty',
    features: sound.features,
    load: (record, now, limits, hidden) => sound.load(record, now, limits, hidden),
    loadSync: (record, now, limits, hidden) => {
      if (sound.loadSync === undefined) throw new TypeError('the sound engine must load synchronously');
      return sound.loadSync(record, now, limits, hidden);
    },
    commit: (writes, options) => sound.commit(writes, options),
    cleanup: (now, budget) => sound.cleanup(now, budget),
    scan: (query) => sound.scan(query),
    close: () => sound.close(),
    ...changes,
  };
}

/** An engine whose commits are made of other writes than those that were asked for. */
export function rewriting(
  sound: Backend,
  rewrite: (write: RecordWrite, options: CommitOptions) => RecordWrite | Promise<RecordWrite>,
): Backend {
  return altered(sound, {
    commit: async (writes, options) =>
      sound.commit(await Promise.all(writes.map((write) => rewrite(write, options))), options),
  });
}

/** An engine whose results are not those of its commits. */
export function misreporting(sound: Backend, report: (result: CommitResult) => CommitResult): Backend {
  return altered(sound, {
    commit: async (writes, options) => (await sound.commit(writes, options)).map(report),
  });
}
