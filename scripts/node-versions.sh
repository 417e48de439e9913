#!/usr/bin/env bash
# Runs the conformance suite and the lifecycle matrix on other versions of Node with the addon that is built, and no other.
#
#   scripts/node-versions.sh [MAJOR...]      default: 22 24
#
# The npm packages node@22 and node@24 bring the binaries. They go into build/nodes, never into node_modules, where they would
# shadow the Node that runs everything else.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- 22 24
addon=build/Release/wafstate.node
if [ ! -f "$addon" ] || [ ! -f dist/index.js ]; then
  echo 'node-versions: build first: npm run build' >&2
  exit 1
fi
before=$(sha256sum "$addon")
status=0
for major in "$@"; do
  prefix=build/nodes/$major
  [ -x "$prefix/node_modules/node/bin/node" ] ||
    npm install --prefix "$prefix" --no-audit --no-fund --no-save --loglevel error "node@$major"
  node=$PWD/$prefix/node_modules/node/bin/node
  echo "== Node $("$node" --version), addon ABI $("$node" -p process.versions.napi)"
  # Children and workers of the tests are started by process.execPath, so they run on the same version.
  WAFSTATE_NATIVE=require "$node" node_modules/vitest/vitest.mjs run \
    test/backend/memory/conformance.test.ts test/backend/shared-memory/conformance.test.ts \
    test/backend/lmdb/conformance.test.ts test/reliability/lifecycle.test.ts || status=1
done
[ "$(sha256sum "$addon")" = "$before" ] || { echo 'node-versions: the addon was rebuilt meanwhile' >&2; exit 1; }
exit "$status"
