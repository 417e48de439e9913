import { WafStateError } from '../../contract/errors.js';
import { foreignEnvironment, otherFormat } from './environment.js';
import { Gate } from './gate.js';
import {
  type Durability,
  decodeEnvironment,
  ENVIRONMENT_FORMAT,
  ENVIRONMENT_KEY,
  encodeEnvironment,
} from './layout.js';
import { openPackageEnvironment, type PackageEnvironment } from './lmdb-package.js';
import { readNewest } from './typescript-read.js';

export interface TypeScriptOpening {
  readonly directory: string;
  readonly gate: string;
  readonly mapSize: number;
  readonly maxReaders: number;
  readonly mode: number;
  readonly durability: Durability;
}

export interface OpenedByPackage {
  readonly data: PackageEnvironment;
  readonly gate: Gate;
}

/** Runs what is done under the gate; see `TransactionGate`. */
export type Guarded = <T>(action: () => T) => T;

const unguarded: Guarded = (action) => action();

/**
 * Opens what `preflight` has checked, under the gate. `create`: note the durability where the environment is new. Throws
 * `invalid_option` where it was made with another, or holds something else.
 */
export async function openByPackage(
  opening: TypeScriptOpening,
  create: boolean,
  guarded: Guarded = unguarded,
): Promise<OpenedByPackage> {
  const { data, gate } = await openUnread(opening, guarded);
  const { durability, maxReaders } = opening;
  try {
    if (create)
      guarded(() => gate.inside(() => data.transactionSync(() => noteDurability(data, durability))));
    else readNewest(data, maxReaders, () => requireDurability(data, durability));
  } catch (error) {
    await data.close();
    await gate.close();
    throw error;
  }
  return { data, gate };
}

/** The same without a look at what the environment holds: no page of a tree is read. */
export async function openUnread(
  opening: TypeScriptOpening,
  guarded: Guarded = unguarded,
): Promise<OpenedByPackage> {
  const { durability, mapSize, maxReaders, mode } = opening;
  // The package makes its first database in a write transaction, so this waits at the gate already.
  const gate = guarded(() => attempt('the gate', () => Gate.open(opening.gate, { maxReaders, mode })));
  try {
    const data = guarded(() =>
      gate.inside(() =>
        attempt('the environment', () =>
          openPackageEnvironment(opening.directory, {
            mapSize,
            maxReaders,
            mode,
            relaxed: durability === 'relaxed',
          }),
        ),
      ),
    );
    return { data, gate };
  } catch (error) {
    await gate.close();
    throw error;
  }
}

function noteDurability(data: PackageEnvironment, durability: Durability): void {
  if (data.getBinaryFast(ENVIRONMENT_KEY) === undefined && data.db.stat().entryCount === 0) {
    data.putSync(ENVIRONMENT_KEY, encodeEnvironment(durability));
  } else {
    requireDurability(data, durability);
  }
}

function requireDurability(data: PackageEnvironment, durability: Durability): void {
  const bytes = data.getBinaryFast(ENVIRONMENT_KEY);
  const noted = bytes === undefined ? undefined : decodeEnvironment(bytes.subarray(0, bytes.length));
  if (noted === durability) return;
  if (noted === undefined) throw foreignEnvironment();
  if (typeof noted === 'object') throw otherFormat(ENVIRONMENT_FORMAT, noted.format);
  throw new WafStateError(
    'invalid_option',
    `openLmdb: the environment was made with durability '${noted}', not '${durability}'; open it with that, or choose another path`,
    { details: { option: 'durability' } },
  );
}

function attempt<T>(what: string, open: () => T): T {
  try {
    return open();
  } catch (cause) {
    throw new WafStateError(
      'unavailable',
      `openLmdb: LMDB cannot open ${what}: ${cause instanceof Error ? cause.message : 'unknown cause'}`,
      {
        details: { option: 'path' },
        cause,
      },
    );
  }
}
