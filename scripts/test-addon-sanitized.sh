#!/usr/bin/env bash
# Builds the addon under AddressSanitizer and UndefinedBehaviorSanitizer, and runs the tests that go into it.
#
#   scripts/test-addon-sanitized.sh [TEST...]      default: the tests of the addon's functions, of records and of the shared table
#
# It is built in a copy of the tree, build/sanitized, so that the addon that everything else uses stays. Node itself is not sanitized, so
# the runtimes are preloaded, and leaks are not looked for: V8 has its own ideas of what is reachable. Buffer's pool would hide
# overruns, so what the tests and the engine hand to C++ is allocated apart (allocUnsafeSlow).
set -euo pipefail
cd "$(dirname "$0")/.."

root=$PWD
tree=build/sanitized
mkdir -p "$tree"
for name in native scripts src test binding.gyp package.json tsdown.config.ts vitest.config.ts tsconfig.json docs bench; do
  rm -rf "${tree:?}/$name"
  cp -R "$name" "$tree/$name"
done
ln -sfn "$root/node_modules" "$tree/node_modules"
rm -rf "$tree/dist"
cp -R dist "$tree/dist"
cd "$tree"

flags='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined'
prefix=$(node -p "require('node:path').resolve(require('node:fs').realpathSync(process.execPath), '../..')")
headers=()
[ ! -f "$prefix/include/node/node_api.h" ] || headers=("--nodedir=$prefix")
# Not by build-addon.mjs: that sees whether the addon loads, which it does not before the runtimes.
CFLAGS=$flags CXXFLAGS=$flags LDFLAGS='-fsanitize=address,undefined' \
  node node_modules/node-gyp/bin/node-gyp.js configure build --release --jobs=2 "${headers[@]}" > addon.log 2>&1 ||
  { tail -n 30 addon.log >&2; exit 1; }

[ $# -gt 0 ] || set -- test/record test/backend/lmdb/native-addon.test.ts test/backend/shared-memory/table.test.ts \
  test/backend/shared-memory/conformance.test.ts
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 WAFSTATE_NATIVE=require \
  node node_modules/vitest/vitest.mjs run --pool=forks "$@"
