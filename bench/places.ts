import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the benchmark keeps what it makes. */
export interface Places {
  /** The reports. */
  readonly output: string;
  /** The packages that only the benchmark needs. */
  readonly peers: string;
}

// This file lies in dist/bench.
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MANIFEST = fileURLToPath(new URL('./peers/', import.meta.url));
const MANIFEST_FILES = ['package.json', 'package-lock.json'];

/**
 * In a checkout of wafstate both are in bench/; in a project that has it installed nothing is written into node_modules, but into
 * `output`, by default ./wafstate-bench.
 */
export function placesOf(output: string | undefined): Places {
  const checkout = join(ROOT, 'bench', 'peers');
  const isCheckout = existsSync(join(checkout, 'package.json'));
  const chosen = output ?? (isCheckout ? join(ROOT, 'bench', 'report') : 'wafstate-bench');
  return { output: resolve(chosen), peers: isCheckout ? checkout : resolve(chosen, 'peers') };
}

/** Installs the packages by npm, in the versions of bench/peers/package-lock.json. Throws where npm fails. */
export function setUpPeers({ peers }: Places): void {
  mkdirSync(peers, { recursive: true });
  for (const file of MANIFEST_FILES) {
    if (!existsSync(join(peers, file))) copyFileSync(join(MANIFEST, file), join(peers, file));
  }
  // better-sqlite3 builds its addon where there is no binary for this Node.js, which takes a minute.
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: peers,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
