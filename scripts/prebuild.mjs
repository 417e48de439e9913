// Copies the addon that was built here to prebuilds/<platform>-<arch>[-musl]/wafstate.node, which is packed
// and published ("prepack"). Binaries that other machines built are put beside it before publishing; the
// addon uses Node-API only, so one binary serves every Node version.

import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const built = join(root, 'build', 'Release', 'wafstate.node');
const musl = process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
const name = `${process.platform}-${process.arch}${musl ? '-musl' : ''}`;
const folder = join(root, 'prebuilds', name);

if (existsSync(built)) {
  mkdirSync(folder, { recursive: true });
  copyFileSync(built, join(folder, 'wafstate.node'));
}
const platforms = existsSync(join(root, 'prebuilds')) ? readdirSync(join(root, 'prebuilds')) : [];
if (platforms.length > 0) {
  console.log(`wafstate: prebuilt binaries for ${platforms.join(', ')}.`);
} else if (process.env.WAFSTATE_NATIVE === '0') {
  console.log('wafstate: packed without binaries, as WAFSTATE_NATIVE=0 asks.');
} else {
  console.error(
    'wafstate: no binary to pack. Build one (npm run build:native), or set WAFSTATE_NATIVE=0 to pack without.',
  );
  process.exitCode = 1;
}
