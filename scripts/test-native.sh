#!/usr/bin/env bash
# Builds and runs the tests of native/core as plain programs, without Node: once as they are, once under
# AddressSanitizer and UndefinedBehaviorSanitizer, once under ThreadSanitizer.
#
#   scripts/test-native.sh [plain] [address] [thread]      default: all three
#
# Every native/test/*_test.cc is a program with a main() of its own that exits with 0 when its tests pass.
# It is linked with all of native/core and with liblmdb.
set -euo pipefail
cd "$(dirname "$0")/.."

shopt -s nullglob
tests=(native/test/*_test.cc)
core=(native/core/*.cc)
if [ ${#tests[@]} -eq 0 ]; then
  echo 'test:native: there is no native/test/*_test.cc' >&2
  exit 1
fi
lmdb=$(node -p "require('node:path').relative('.', require.resolve('lmdb') + '/../../dependencies/lmdb/libraries/liblmdb')")
cxx=${CXX:-c++}
cc=${CC:-cc}
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror'
failed=0
passed=0

[ $# -gt 0 ] || set -- plain address thread
for variant in "$@"; do
  case $variant in
    plain) flags='-O2' ;;
    address) flags='-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined' ;;
    thread) flags='-O1 -g -fno-omit-frame-pointer -fsanitize=thread' ;;
    *) echo "test:native: unknown variant '$variant' (plain, address, thread)" >&2; exit 2 ;;
  esac
  # liblmdb reads its reader table and its meta pages without locks, in an order that it takes care of itself; seen
  # by ThreadSanitizer that would drown ours.
  lmdb_flags=$flags
  [ "$variant" != thread ] || lmdb_flags='-O1 -g'
  out=build/native-test/$variant
  rm -rf "$out"
  mkdir -p "$out"
  {
    for file in native/lmdb/liblmdb "$lmdb/midl" "$lmdb/chacha8"; do
      echo "$cc $lmdb_flags -w -pthread -DMDB_MAXKEYSIZE=0 -DMDB_USE_ROBUST -I$lmdb -c $file.c" \
        "-o $out/$(basename "$file").o"
    done
    for file in "${core[@]}" "${tests[@]}"; do
      echo "$cxx $flags -std=c++20 -fno-exceptions -fno-rtti -pthread $warnings -Inative -isystem $lmdb" \
        "-DMDB_MAXKEYSIZE=0 -DMDB_USE_ROBUST -c $file -o $out/$(basename "$file" .cc).o"
    done
  } | xargs -P 2 -d '\n' -I '{}' bash -c '{}'
  objects=()
  for file in liblmdb midl chacha8; do objects+=("$out/$file.o"); done
  for file in "${core[@]}"; do objects+=("$out/$(basename "$file" .cc).o"); done
  for file in "${tests[@]}"; do
    name=$(basename "$file" .cc)
    $cxx $flags -pthread "$out/$name.o" "${objects[@]}" -o "$out/$name"
    if "$out/$name"; then
      passed=$((passed + 1))
    else
      echo "test:native: $name failed ($variant)" >&2
      failed=$((failed + 1))
    fi
  done
done

echo "test:native: $passed programs passed, $failed failed"
[ "$failed" -eq 0 ]
