// Builds the C++ addon into build/Release/wafstate.node.
//
//   node scripts/build-addon.mjs             fails when the addon cannot be built
//   node scripts/build-addon.mjs --optional  says why and succeeds: the package then runs in TypeScript
//
// `npm ci` runs it with --optional, so that no compiler is needed to work on the project. It is npm's
// "dependencies" script, which runs in the project itself only: a package with an "install" or "prepare"
// script makes its users review it. An installed package carries prebuilt binaries instead.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const output = join(root, 'build', 'Release', 'wafstate.node');
const logFile = join('build', 'addon.log');
const optional = process.argv.includes('--optional');

/** The tools that node-gyp's make files call, and which one is missing. */
function missingTool() {
  const tools = [
    [process.env.CXX ?? 'c++', 'a C++20 compiler'],
    [process.env.CC ?? 'cc', 'a C compiler'],
    ['make', 'make'],
  ];
  for (const [command, name] of tools) {
    const [program, ...args] = command.split(' ');
    if (spawnSync(program, [...args, '--version'], { stdio: 'ignore' }).error) return `${name} (${command})`;
  }
  return undefined;
}

/** The headers installed beside this Node, if there are any: then nothing is fetched for the build. */
function localHeaders() {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const include = join(prefix, 'include', 'node');
  if (!existsSync(join(include, 'node_api.h')) || !existsSync(join(include, 'common.gypi'))) return [];
  const version = readFileSync(join(include, 'node_version.h'), 'utf8');
  const major = /#define NODE_MAJOR_VERSION (\d+)/.exec(version)?.[1];
  return major === process.versions.node.split('.')[0] ? [`--nodedir=${prefix}`] : [];
}

/** Returns undefined when the addon was built and loads, else the reason why not. */
function build() {
  if (process.platform !== 'win32') {
    const missing = missingTool();
    if (missing) return `${missing} was not found`;
  }
  let nodeGyp;
  try {
    nodeGyp = createRequire(import.meta.url).resolve('node-gyp/bin/node-gyp.js');
  } catch {
    return 'node-gyp is not installed (development dependencies were left out)';
  }
  // `configure` each time: the list of source files is read there.
  const args = [nodeGyp, 'configure', 'build', '--release', '--jobs=2', ...localHeaders()];
  const gyp = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    timeout: 900_000,
    maxBuffer: 2 ** 28,
  });
  mkdirSync(join(root, 'build'), { recursive: true });
  writeFileSync(join(root, logFile), `${gyp.stdout ?? ''}${gyp.stderr ?? ''}${gyp.error ?? ''}\n`);
  if (gyp.status !== 0) return `node-gyp failed: ${firstError(gyp.stderr ?? '')}, whole output in ${logFile}`;
  const load = spawnSync(process.execPath, ['-e', `require(${JSON.stringify(output)})`], {
    encoding: 'utf8',
  });
  if (load.status !== 0) {
    writeFileSync(join(root, logFile), load.stderr, { flag: 'a' });
    return `the addon was built but does not load, see ${logFile}`;
  }
  return undefined;
}

/** The line a reader looks for first in the output of a failed build. */
function firstError(text) {
  const lines = text.split('\n').filter((line) => /\berror\b/i.test(line));
  return (lines.find((line) => !line.startsWith('gyp ERR! stack')) ?? lines[0] ?? 'no message').trim();
}

if (process.env.WAFSTATE_NATIVE === '0') {
  console.log('wafstate: C++ addon not built, as WAFSTATE_NATIVE=0 asks; wafstate runs in TypeScript.');
} else {
  const reason = build();
  if (reason === undefined) {
    console.log('wafstate: C++ addon built (build/Release/wafstate.node).');
  } else {
    // An addon of older sources must not be loaded by mistake.
    rmSync(output, { force: true });
    console.log(
      `wafstate: C++ addon not built: ${reason}. wafstate runs in TypeScript: same files, same results, slower, without shared memory.`,
    );
    if (!optional) process.exitCode = 1;
  }
}
