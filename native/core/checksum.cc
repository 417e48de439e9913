#include "core/checksum.h"

#include <bit>

namespace wafstate {

namespace {

constexpr std::uint32_t kPrime1 = 0x9E3779B1;
constexpr std::uint32_t kPrime2 = 0x85EBCA77;
constexpr std::uint32_t kPrime3 = 0xC2B2AE3D;
constexpr std::uint32_t kPrime4 = 0x27D4EB2F;
constexpr std::uint32_t kPrime5 = 0x165667B1;

std::uint32_t Round(std::uint32_t lane, std::uint32_t input) {
  return std::rotl(lane + input * kPrime2, 13) * kPrime1;
}

}  // namespace

std::uint32_t Checksum(Bytes bytes) {
  const std::uint8_t* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t hash = kPrime5;
  if (left >= 16) {
    std::uint32_t lane1 = kPrime1 + kPrime2;
    std::uint32_t lane2 = kPrime2;
    std::uint32_t lane3 = 0;
    std::uint32_t lane4 = 0 - kPrime1;
    for (; left >= 16; left -= 16, at += 16) {
      lane1 = Round(lane1, Load<std::uint32_t>(at));
      lane2 = Round(lane2, Load<std::uint32_t>(at + 4));
      lane3 = Round(lane3, Load<std::uint32_t>(at + 8));
      lane4 = Round(lane4, Load<std::uint32_t>(at + 12));
    }
    hash = std::rotl(lane1, 1) + std::rotl(lane2, 7) + std::rotl(lane3, 12) + std::rotl(lane4, 18);
  }
  hash += static_cast<std::uint32_t>(bytes.size());
  for (; left >= 4; left -= 4, at += 4) {
    hash = std::rotl(hash + Load<std::uint32_t>(at) * kPrime3, 17) * kPrime4;
  }
  for (; left > 0; --left, ++at) {
    hash = std::rotl(hash + *at * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ hash >> 15) * kPrime2;
  hash = (hash ^ hash >> 13) * kPrime3;
  return hash ^ hash >> 16;
}

}  // namespace wafstate
