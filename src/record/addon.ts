import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WafStateError } from '../contract/errors.js';

/** The addon's `abi`: raised whenever a call changes its arguments or its result. */
const ADDON_ABI = 3;

/** What is loaded, and why. */
export interface NativeStatus {
  /** Whether the C++ addon serves this thread; without it the TypeScript implementation does. */
  readonly loaded: boolean;
  /** The file it came from. */
  readonly path?: string;
  /** Why it is not loaded: every file that was tried, and what came of it. */
  readonly reason?: string;
}

interface Loaded {
  readonly status: NativeStatus;
  readonly addon?: object;
}

let loaded: Loaded | undefined;

/** Whether the addon is loaded in this thread, from where, or why not. Loads it at the first call. Never throws. */
export function nativeStatus(): NativeStatus {
  loaded ??= load(process.env['WAFSTATE_NATIVE'] ?? 'auto');
  return loaded.status;
}

/** For messages. */
export const HOW_TO_HAVE_THE_ADDON = `build it with \`npm run build:native\` in a checkout, or install a package that was packed with it for ${process.platform}-${process.arch}`;

/**
 * The addon, seen as that part of it whose functions the caller declares; `undefined` where it is not loaded.
 *
 * WAFSTATE_NATIVE decides: `auto` (the default) takes it where it loads, `0` never, and with `require` this throws
 * `missing_feature` where it does not load. Any other setting is `invalid_option`.
 */
export function loadAddon<Part extends object>(): Part | undefined {
  const setting = process.env['WAFSTATE_NATIVE'] ?? 'auto';
  if (!['auto', '0', 'require'].includes(setting)) {
    throw new WafStateError(
      'invalid_option',
      `WAFSTATE_NATIVE must be 0, auto or require, got '${setting}'`,
      {
        details: { option: 'WAFSTATE_NATIVE' },
      },
    );
  }
  const status = nativeStatus();
  if (!status.loaded && setting === 'require') {
    throw new WafStateError(
      'missing_feature',
      `WAFSTATE_NATIVE=require, but the addon is not loaded: ${status.reason}; ${HOW_TO_HAVE_THE_ADDON}, or unset the variable to run in TypeScript`,
      { details: { option: 'WAFSTATE_NATIVE' } },
    );
  }
  return loaded?.addon as Part | undefined;
}

function load(setting: string): Loaded {
  if (setting === '0') return { status: { loaded: false, reason: 'WAFSTATE_NATIVE=0' } };
  const reasons: string[] = [];
  for (const path of candidates()) {
    if (!existsSync(path)) {
      reasons.push(`${path}: no such file`);
      continue;
    }
    try {
      const addon: { readonly abi?: unknown } = createRequire(import.meta.url)(path);
      if (addon.abi === ADDON_ABI) return { status: { loaded: true, path }, addon };
      reasons.push(`${path}: its abi is ${String(addon.abi)}, this wafstate needs ${ADDON_ABI}`);
    } catch (error) {
      reasons.push(`${path}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return { status: { loaded: false, reason: reasons.join('; ') } };
}

/** A local build comes first: where there is one, it is newer than what was packed. */
function candidates(): string[] {
  // This file lies two folders below the package's root, in src/ as in dist/.
  const root = fileURLToPath(new URL('../../', import.meta.url));
  return [
    join(root, 'build', 'Release', 'wafstate.node'),
    join(root, 'prebuilds', `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`, 'wafstate.node'),
  ];
}

function isMusl(): boolean {
  if (process.platform !== 'linux') return false;
  const report = process.report.getReport() as {
    readonly header?: { readonly glibcVersionRuntime?: string };
  };
  return report.header?.glibcVersionRuntime === undefined;
}
