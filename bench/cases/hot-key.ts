import type { BenchCase } from '../bench-case.js';
import type { Result } from '../report.js';
import type { Durability } from '../subject.js';
import { lmdbNative, lmdbTypeScript } from '../subjects/wafstate-lmdb.js';
import { KEYS, oneKey, uniform } from './key-sets.js';

export function hotSetting(durability: Durability, keys: 'one' | 'spread'): string {
  return `${durability}, ${keys === 'one' ? 'one key' : `${KEYS.toLocaleString('en')} keys`}`;
}

export const hotKey: BenchCase = {
  id: 'hot_key',
  title: 'Everyone on one key',
  chart: 'rates',
  grouped: true,
  describe: () =>
    `1,000 commits in flight that all add to the same record, as a global counter does, and the same spread over ${KEYS.toLocaleString('en')} records. A batch ` +
    'reads and writes a record once, however many commits touch it.',
  run: async (context) => {
    const results: Result[] = [];
    for (const durability of ['durable', 'relaxed'] as const) {
      const load = { operation: 'commit', callers: 1000 } as const;
      const settings = [
        { ...load, setting: hotSetting(durability, 'one'), keys: oneKey },
        { ...load, setting: hotSetting(durability, 'spread'), keys: uniform },
      ];
      results.push(
        ...(await context.compare([
          ...(await context.contend(lmdbNative, durability, settings)),
          ...(await context.contend(lmdbTypeScript, durability, settings)),
        ])),
      );
    }
    return results;
  },
};
