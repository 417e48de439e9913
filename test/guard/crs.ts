import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Debian's package modsecurity-crs 3.3.4, or where its content was unpacked. The rules are Apache-2.0 and not the project's: they are
 * read where they lie, as they are.
 */
const ROOT = process.env['CRS_ROOT'] ?? '/';
const RULES = join(ROOT, 'usr/share/modsecurity-crs/rules');

export const SETUP = join(ROOT, 'etc/modsecurity/crs/crs-setup.conf');
export const INITIALIZATION = join(RULES, 'REQUEST-901-INITIALIZATION.conf');
export const REPUTATION = join(RULES, 'REQUEST-910-IP-REPUTATION.conf');
export const DOS = join(RULES, 'REQUEST-912-DOS-PROTECTION.conf');

export const crsIsInstalled = [SETUP, INITIALIZATION, REPUTATION, DOS].every((file) => existsSync(file));

if (!crsIsInstalled) {
  process.stdout.write(
    `the tests of the Core Rule Set are skipped: modsecurity-crs is not installed below ${ROOT} (CRS_ROOT)\n`,
  );
}
