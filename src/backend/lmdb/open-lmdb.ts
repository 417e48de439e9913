import { randomBytes } from 'node:crypto';
import { fromBytes } from '../../contract/bytes.js';
import { WafStateError } from '../../contract/errors.js';
import { HOW_TO_HAVE_THE_ADDON, loadAddon, nativeStatus } from '../../record/addon.js';
import { isFromEarlierBoot } from './boot.js';
import type { Environment } from './environment.js';
import { ExitGuard, TransactionGate } from './exit-guard.js';
import { GroupCommit } from './group-commit.js';
import { requireIntegrity } from './integrity-process.js';
import { Lmdb, type LmdbBackend } from './lmdb-backend.js';
import { loadPackage } from './lmdb-package.js';
import { MapFull } from './map-full.js';
import type { NativeEnvironmentAddon } from './native-addon.js';
import { NativeEnvironment, openNatively } from './native-environment.js';
import { syncNewFiles } from './new-files.js';
import { type LmdbOptions, type ResolvedLmdbOptions, resolveLmdbOptions } from './options.js';
import { preflight } from './preflight.js';
import { libraryOf, requireOneLibrary } from './process-holder.js';
import { claim, isOpen } from './registry.js';
import { TypeScriptEnvironment } from './typescript-environment.js';
import { openByPackage } from './typescript-opening.js';
import { WriterHost } from './writer-host.js';
import type { WriterSetup } from './writer-task.js';

/**
 * Opens an LMDB environment for this thread: shared by all threads and processes that open it, kept across restarts.
 *
 * Loads run on the caller's thread, at a few microseconds each; commits are gathered into write transactions of one thread of their own
 * (group commit), and are on disk when they resolve, unless the environment is `relaxed`. An open backend keeps the process alive only while
 * commits are in flight. The same environment may be opened by several threads, or several times by one, with the same options.
 *
 * Rejects with `invalid_option`, `not_found`, `permission_denied`, `corrupt_data` (no environment of this format, or a damaged
 * one), `capacity_exceeded` (disk), `missing_feature` (the addon, or the `lmdb` package in its stead, does not load), `unavailable`, or `writer_lost`
 * where another process holds the gate for longer than `writerTimeout`.
 */
export async function openLmdb(options: LmdbOptions): Promise<LmdbBackend> {
  const resolved = resolveLmdbOptions(options);
  const addon = chooseAddon(resolved);
  // Before anything is made for it.
  if (addon === undefined) TransactionGate.ofCaller().require(loadPackage);
  const { directory, gate } = preflight(resolved, isOpen);
  const doubtful = resolved.durability === 'relaxed' && !isOpen(directory) && isFromEarlierBoot(directory);
  if (resolved.integrity === 'full' || doubtful) await requireIntegrity(directory);
  const { mapSize, maxReaders, mode, durability, readOnly } = resolved;
  const implementation = addon === undefined ? 'typescript' : 'native';
  const library = libraryOf(implementation);
  if (!isOpen(directory)) {
    await requireOneLibrary(directory, implementation, () => addon?.environmentIsOpen(directory) === true);
  }
  const unclaim = claim(directory, { implementation, library, mapSize, maxReaders, durability, readOnly });
  const guard = new ExitGuard();
  const release = (): void => {
    guard.release();
    unclaim();
  };
  const setup: WriterSetup = {
    implementation,
    directory,
    gate,
    mapSize,
    maxReaders,
    mode,
    durability,
    writerTimeout: resolved.writerTimeout * 1000,
    writerName: fromBytes(randomBytes(16)),
    writerNumber: randomBytes(8).readBigUInt64LE() >> 1n,
    guards: guard.guards,
  };
  try {
    return await open(setup, resolved, addon, guard, release);
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * A slice must be worth what every transaction costs beside its commits. Relaxed, that is a message there and one back. Durable, it is
 * an fsync, which takes nearly as long for half of the commits, since they touch nearly as many pages: no slice is.
 */
const SLICE_REQUESTS = { durable: Number.POSITIVE_INFINITY, relaxed: 250 } as const;

/** Undefined: TypeScript. */
function chooseAddon({ implementation }: ResolvedLmdbOptions): NativeEnvironmentAddon | undefined {
  if (implementation === 'typescript') return undefined;
  const addon = loadAddon<NativeEnvironmentAddon>();
  if (addon === undefined && implementation === 'native') {
    throw new WafStateError(
      'missing_feature',
      `openLmdb: the addon is not loaded: ${nativeStatus().reason}; ${HOW_TO_HAVE_THE_ADDON}, or choose implementation 'typescript'`,
      { details: { option: 'implementation' } },
    );
  }
  return addon;
}

/** The writer opens first: it makes what is missing, and waits at the gate where that holds up nobody. */
async function open(
  setup: WriterSetup,
  options: ResolvedLmdbOptions,
  addon: NativeEnvironmentAddon | undefined,
  guard: ExitGuard,
  release: () => void,
): Promise<LmdbBackend> {
  if (options.readOnly) {
    return new Lmdb({
      options,
      environment: await openReading(setup, addon, true),
      writing: undefined,
      release,
    });
  }
  let environment: Environment | undefined;
  const mapFull = new MapFull();
  const host: WriterHost = new WriterHost({
    setup,
    timeout: options.writerTimeout * 1000,
    worker: new URL('./writer.js', import.meta.url),
    fate: (sequence) => environment?.fate(sequence) ?? { type: 'unknown' },
    onLost: (error) => {
      guard.writerLost();
      commits.abandon(error);
    },
    onFound: () => {
      guard.writerFound();
      commits.resume();
    },
  });
  const commits = new GroupCommit({
    queueRequests: options.queueRequests,
    queueBytes: options.queueBytes,
    sliceRequests: SLICE_REQUESTS[options.durability],
    execute: (batch) => host.execute(batch),
    explain: (refusal) => (environment === undefined ? refusal : mapFull.explain(refusal, environment)),
  });
  await host.open();
  try {
    await syncNewFiles(setup.directory, setup.gate);
    environment = await openReading(setup, addon, false);
  } catch (error) {
    await host.close();
    throw error;
  }
  return new Lmdb({ options, environment, writing: { host, commits }, release });
}

async function openReading(
  setup: WriterSetup,
  addon: NativeEnvironmentAddon | undefined,
  readOnly: boolean,
): Promise<Environment> {
  if (addon !== undefined) {
    return new NativeEnvironment(addon, openNatively(addon, setup, readOnly), setup.writerNumber);
  }
  const transactions = TransactionGate.ofCaller();
  const { data, gate } = await openByPackage(setup, false, (action) => transactions.require(action));
  return new TypeScriptEnvironment(data, gate, {
    ...setup,
    writerName: readOnly ? undefined : setup.writerName,
  });
}
