import { WafStateError } from '../../contract/errors.js';
import { DataFile } from './file/data-file.js';
import { glance } from './file/glance.js';
import type { Damage, Meta } from './file/meta.js';

/** A writer that goes on meanwhile may use a root again that has just been read about: then everything is looked at anew. */
const ATTEMPTS = 20;

/**
 * Refuses with `corrupt_data` whatever liblmdb would crash on and a glance can tell. `gate`
 * has to be without entries. `empty` is a file that nobody has begun, as a process leaves it that was killed while it made one.
 * Safe beside a live writer: pages are there before the meta page that counts them.
 */
export function inspectDataFile(file: string, role: 'records' | 'gate'): 'environment' | 'empty' {
  const data = DataFile.open(file);
  try {
    for (let attempt = 1; ; attempt++) {
      const metas = data.metas();
      if (metas === undefined) return 'empty';
      if ('what' in metas) throw corrupt(file, metas);
      const damage = role === 'gate' ? inspectGate(metas.newer) : glance(data, metas);
      if (damage === undefined) return 'environment';
      if (data.isNewest(metas.newer)) throw corrupt(file, damage);
      // Who commits faster than this can look has the environment open, after such a look of his own.
      if (attempt === ATTEMPTS) return 'environment';
    }
  } finally {
    data.close();
  }
}

/** Nothing is ever committed in a gate. */
function inspectGate({ records, freeList, transaction }: Meta): Damage | undefined {
  if (records.root === undefined && freeList.root === undefined && transaction === 0) return undefined;
  return {
    what: 'it is no gate, for it holds something; remove its directory while no process has the environment open',
  };
}

function corrupt(file: string, { what, limit, actual }: Damage): WafStateError {
  return new WafStateError('corrupt_data', `openLmdb: ${file} cannot be opened: ${what}`, {
    details: {
      option: 'path',
      ...(limit !== undefined && { limit }),
      ...(actual !== undefined && { actual }),
    },
  });
}
