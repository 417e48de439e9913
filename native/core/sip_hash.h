// SipHash: a hash that who does not know the key cannot make collide (Aumasson and Bernstein, "SipHash: a
// fast short-input PRF", 2012). With C = 1 and D = 3 it is what hash tables of other runtimes use against
// flooding.
#pragma once

#include <bit>

#include "core/bytes.h"

namespace wafstate {

struct HashKey {
  std::uint64_t first;
  std::uint64_t second;
};

// C compression rounds a word, D finalization rounds.
template <int C, int D>
[[nodiscard]] inline std::uint64_t SipHash(const HashKey& key, Bytes bytes) {
  std::uint64_t v0 = key.first ^ 0x736f6d6570736575;
  std::uint64_t v1 = key.second ^ 0x646f72616e646f6d;
  std::uint64_t v2 = key.first ^ 0x6c7967656e657261;
  std::uint64_t v3 = key.second ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto compress = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(C);
    v0 ^= word;
  };
  const std::size_t whole = bytes.size() & ~std::size_t{7};
  for (std::size_t i = 0; i < whole; i += 8)
    compress(Load<std::uint64_t>(bytes.data() + i));
  std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
  for (std::size_t i = whole; i < bytes.size(); ++i)
    last |= static_cast<std::uint64_t>(bytes[i]) << (8 * (i - whole));
  compress(last);
  v2 ^= 0xff;
  rounds(D);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace wafstate
