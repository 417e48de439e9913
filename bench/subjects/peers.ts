import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Packages that only the benchmark needs: those that wafstate is compared with, and tinybench. They are no dependencies of it: the
 * benchmark's setup installs them into a directory of their own, and what is not there is left out of the report, which says so.
 */

/** The runner sets the variable, and the subjects' processes inherit it. */
export const PEERS_VARIABLE = 'WAFSTATE_BENCH_PEERS';

function peersDirectory(): string {
  const directory = process.env[PEERS_VARIABLE];
  if (directory === undefined) throw new Error(`${PEERS_VARIABLE} must name the directory of the peers`);
  return directory;
}

function directoryOf(name: string): string {
  return join(peersDirectory(), 'node_modules', name);
}

/** Why the package cannot be used, or `undefined`. */
export function missingPeer(name: string): string | undefined {
  return existsSync(join(directoryOf(name), 'package.json'))
    ? undefined
    : `the package ${name} is not installed in ${peersDirectory()}: run the benchmark with --setup`;
}

/** A CommonJS package. REQUIRES: it is not missing. */
export function loadPeer<Module>(name: string): Module {
  return createRequire(join(peersDirectory(), 'package.json'))(name) as Module;
}

/** An ES module. REQUIRES: it is not missing. */
export async function importPeer<Module>(name: string): Promise<Module> {
  const path = createRequire(join(peersDirectory(), 'package.json')).resolve(name);
  return (await import(pathToFileURL(path).href)) as Module;
}

/** The version that is installed, or `undefined`. */
export function peerVersion(name: string): string | undefined {
  if (missingPeer(name) !== undefined) return undefined;
  return loadPeer<{ version: string }>(join(directoryOf(name), 'package.json')).version;
}
