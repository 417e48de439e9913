#!/usr/bin/env bash
# Fuzzes native/core with libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer. Needs clang with its
# runtime (Debian: clang and libclang-rt-dev).
#
#   scripts/fuzz-native.sh [--seconds N | --runs N]      default: 60 seconds
#
# It begins with native/test/corpus, the smallest inputs of earlier runs that reach everything they reached. What it finds
# stays in build/fuzz: the corpus there goes on growing from run to run, and an input that fails is named crash-*; run
# build/fuzz/record_fuzz with its path to see it again. To renew the one that is kept:
#
#   build/fuzz/record_fuzz -set_cover_merge=1 -max_len=700 native/test/corpus build/fuzz/corpus
set -euo pipefail
cd "$(dirname "$0")/.."

limit=-max_total_time=60
if [ "${1:-}" = --seconds ] && [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then
  limit=-max_total_time=$2
elif [ "${1:-}" = --runs ] && [[ ${2:-} =~ ^[1-9][0-9]*$ ]]; then
  limit=-runs=$2
elif [ $# -gt 0 ]; then
  echo 'usage: scripts/fuzz-native.sh [--seconds N | --runs N]' >&2
  exit 2
fi
clangxx=${CLANGXX:-$(command -v clang++ || command -v clang++-14 || true)}
if [ -z "$clangxx" ]; then
  echo 'fuzz:native: clang++ is not installed; set CLANGXX to one that has -fsanitize=fuzzer' >&2
  exit 1
fi

out=build/fuzz
corpus=$out/corpus
mkdir -p "$corpus"
core=()
for name in apply batch_executor checksum integer patcher record record_key reply request sweep; do
  core+=("native/core/$name.cc")
done
flags=(-std=c++20 -fno-exceptions -fno-rtti -O1 -g -Wall -Wextra -Werror -Inative)
sanitizers='address,undefined'
"$clangxx" "${flags[@]}" native/test/fuzz_seeds.cc "${core[@]}" -o "$out/fuzz_seeds"
"$out/fuzz_seeds" "$corpus"
"$clangxx" "${flags[@]}" -fsanitize="fuzzer,$sanitizers" -fno-sanitize-recover=undefined \
  native/test/record_fuzz.cc "${core[@]}" -o "$out/record_fuzz"
"$out/record_fuzz" "$corpus" native/test/corpus "$limit" -max_len=4096 -print_final_stats=1 \
  -artifact_prefix="$out/"
