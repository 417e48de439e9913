// SipHash-2-4 against the vectors of its authors; SipHash-1-3 is the same template.

#include "core/sip_hash.h"

#include "test/check.h"

namespace {

TEST_CASE(GivesTheVectorsOfItsAuthors) {
  // vectors.h of https://github.com/veorq/SipHash: key 00 01 … 0f, message 00 01 … of each length.
  const struct {
    std::size_t length;
    std::uint64_t hash;
  } table[] = {
      {0, 0x726fdb47dd0e0e31}, {1, 0x74f839c593dc67fd},  {7, 0xab0200f58b01d137},
      {8, 0x93f5f5799a932462}, {15, 0xa129ca6149be45e5},
  };
  const wafstate::HashKey key{.first = 0x0706050403020100, .second = 0x0f0e0d0c0b0a0908};
  wafstate::Buffer message;
  for (std::uint8_t i = 0; i < 64; ++i)
    message.push_back(i);
  for (const auto& row : table) {
    CHECK((wafstate::SipHash<2, 4>(key, wafstate::Bytes(message).first(row.length))) == row.hash);
  }
}

TEST_CASE(DependsOnTheKey) {
  const wafstate::Bytes message = wafstate::ToBytes("203.0.113.9");
  CHECK((wafstate::SipHash<1, 3>({1, 2}, message)) != (wafstate::SipHash<1, 3>({1, 3}, message)));
  CHECK((wafstate::SipHash<1, 3>({1, 2}, message)) != (wafstate::SipHash<1, 3>({2, 2}, message)));
}

}  // namespace

TEST_MAIN("sip_hash_test")
