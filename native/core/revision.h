// Where revisions come from.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace wafstate {

// The revision after `last`: greater than it, and not below the microseconds since the epoch, so that none is
// used again where the newest were lost with a power cut. Beyond kMaxRevision they are used up, which `Apply`
// refuses.
[[nodiscard]] inline std::uint64_t NextRevision(std::uint64_t last) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t clock = duration_cast<microseconds>(since_epoch).count();
  return std::max(last + 1, static_cast<std::uint64_t>(std::max<std::int64_t>(clock, 0)));
}

}  // namespace wafstate
