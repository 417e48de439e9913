// What the LMDB scripts have in common: counters that are incremented with many commits in flight.
import { DEFAULT_LIMITS, systemClock } from 'wafstate';

export function record(key) {
  return { space: 1, applicationId: '', key };
}

export function increment(backend, key) {
  const mutations = [{ type: 'add', name: 'count', delta: 1n }];
  return backend.commit([{ record: record(key), expect: 'any', mutations }], {
    now: systemClock.now(),
    limits: DEFAULT_LIMITS,
  });
}

/** The counter as a load sees it. */
export function count(backend, key) {
  const variable = backend.loadSync(record(key), systemClock.now(), DEFAULT_LIMITS).variables.get('count');
  return variable === undefined ? 0 : Number(variable.value);
}

/** Runs `each(index)` for every index below `total`, `inFlight` at a time. */
export async function inParallel(total, inFlight, each) {
  let next = 0;
  const lane = async () => {
    while (next < total) await each(next++);
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, total) }, lane));
}

/** Every implementation that is asked for: native, typescript or both. */
export function implementationsOf(option) {
  if (option === 'both') return ['native', 'typescript'];
  if (option === 'native' || option === 'typescript') return [option];
  throw new Error(`--implementation must be native, typescript or both, got ${option}`);
}
