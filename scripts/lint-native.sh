#!/usr/bin/env bash
# Formatting (clang-format) and static checks (clang-tidy) of the C++ sources. With --fix the formatting is
# corrected instead. A tool that is not installed is skipped and named; in CI (CI=true) that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files --cached --others --exclude-standard 'native/*.cc' 'native/*.h')
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.cc$' | grep -v '_fuzz\.cc$')

have() {
  command -v "$1" > /dev/null && return 0
  echo "lint: $1 is not installed, C++ was not checked with it" >&2
  [ "${CI:-}" != true ] || exit 1
  return 1
}

if have clang-format; then
  if [ "${1:-}" = --fix ]; then
    clang-format -i "${files[@]}"
    exit 0
  fi
  clang-format --dry-run -Werror "${files[@]}"
  echo "lint: clang-format checked ${#files[@]} files"
fi

if [ "${1:-}" != --fix ] && have clang-tidy; then
  lmdb=$(node -p "require('node:path').relative('.', require.resolve('lmdb') + '/../../dependencies/lmdb/libraries/liblmdb')")
  napi=$(node -p "require('node-addon-api').include_dir")
  node=$(node -p "require('node:path').resolve(require('node:fs').realpathSync(process.execPath), '../../include/node')")
  printf '%s\n' "${sources[@]}" | xargs -P 2 -I '{}' clang-tidy --quiet '{}' -- \
    -std=c++20 -fno-exceptions -fno-rtti -Inative -isystem "$napi" -isystem "$node" -isystem "$lmdb" \
    -DNAPI_VERSION=8 -DNODE_ADDON_API_DISABLE_CPP_EXCEPTIONS -DNODE_ADDON_API_DISABLE_DEPRECATED \
    -DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS \
    -DMDB_MAXKEYSIZE=0 -DMDB_USE_ROBUST 2> >(grep -v 'warnings\? generated\|Suppressed\|Use -header-filter' >&2)
  echo "lint: clang-tidy checked ${#sources[@]} files"
fi
