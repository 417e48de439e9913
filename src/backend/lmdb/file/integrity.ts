import { join } from 'node:path';
import type { ByteString } from '../../../contract/bytes.js';
import type { RecordName } from '../../../contract/space.js';
import { DATA_FILE } from '../layout.js';
import { DataFile } from './data-file.js';
import { glance } from './glance.js';
import type { Meta, MetaPair } from './meta.js';
import { EnvironmentWalk, type WalkStep } from './walk.js';

/** What a check of a whole environment found; what crosses from the child process as JSON. */
export interface IntegrityReport {
  readonly records: number;
  readonly variables: number;
  readonly corruptRecords: number;
  /** The first `MAX_NAMED`. */
  readonly corrupt: readonly CorruptEntry[];
  readonly damages: number;
  /** The first `MAX_NAMED`. */
  readonly damage: readonly { readonly page: number; readonly what: string }[];
  readonly pages: number;
}

export interface CorruptEntry {
  readonly key: ByteString;
  /** Undefined where the key is none of a record. */
  readonly name?: RecordName | undefined;
  readonly reason: string;
}

/** A damaged file may have any number of faults: those beyond this many are counted and not named. */
export const MAX_NAMED = 1000;

/** Called now and then with the number of records read so far. */
export type OnProgress = (records: number) => void;

const PROGRESS_RECORDS = 10_000;

/**
 * Reads everything in the data file of `directory`. Where a writer has moved on meanwhile, what was found may be its traces: then
 * `pin` is called, which keeps a snapshot from being overwritten until what it returns is called, and that one is read.
 */
export async function checkIntegrity(
  directory: string,
  pin: () => Promise<() => void>,
  onProgress: OnProgress,
): Promise<IntegrityReport> {
  const data = DataFile.open(join(directory, DATA_FILE));
  try {
    const first = check(data, onProgress);
    if (isSound(first.report) || first.meta === undefined || data.isNewest(first.meta)) return first.report;
    const release = await pin();
    try {
      return check(data, onProgress).report;
    } finally {
      release();
    }
  } finally {
    data.close();
  }
}

export function isSound({ corruptRecords, damages }: IntegrityReport): boolean {
  return corruptRecords === 0 && damages === 0;
}

function check(data: DataFile, onProgress: OnProgress): { report: IntegrityReport; meta: Meta | undefined } {
  const metas = data.metas();
  if (metas === undefined) return { report: collect([], 0, onProgress), meta: undefined };
  if ('what' in metas)
    return {
      report: collect([{ type: 'damage', page: 0, what: metas.what }], 0, onProgress),
      meta: undefined,
    };
  return {
    report: collect(everything(data, metas), metas.newer.lastPage + 1, onProgress),
    meta: metas.newer,
  };
}

function* everything(data: DataFile, metas: MetaPair): Generator<WalkStep> {
  const damage = glance(data, metas);
  if (damage !== undefined)
    yield { type: 'damage', page: 0, what: `is of a file that does not open: ${damage.what}` };
  yield* new EnvironmentWalk(data, metas.newer).steps();
}

function collect(steps: Iterable<WalkStep>, pages: number, onProgress: OnProgress): IntegrityReport {
  const corrupt: CorruptEntry[] = [];
  const damage: { page: number; what: string }[] = [];
  let [records, variables, corruptRecords, damages] = [0, 0, 0, 0];
  for (const step of steps) {
    switch (step.type) {
      case 'record':
        records++;
        variables += step.record.variables.size;
        if (records % PROGRESS_RECORDS === 0) onProgress(records);
        break;
      case 'corrupt':
        corruptRecords++;
        if (corrupt.length < MAX_NAMED) corrupt.push({ key: step.key, name: step.name, reason: step.reason });
        break;
      case 'damage':
        damages++;
        if (damage.length < MAX_NAMED) damage.push({ page: step.page, what: step.what });
    }
  }
  return { records, variables, corruptRecords, corrupt, damages, damage, pages };
}
