// Why an operation on an LMDB environment failed.
#pragma once

#include <cstdint>

namespace wafstate {

// The numbers cross to TypeScript: src/backend/lmdb/native-addon.ts says what each means.
enum class Failure : std::uint8_t {
  kNone = 0,
  kClosed = 1,
  kOptionMismatch = 2,
  kDurabilityMismatch = 3,
  kForeign = 4,
  kFormatVersion = 5,
  kAbsent = 6,
  kReadersFull = 7,
  kForked = 8,
  kDisk = 9,
  kEngine = 10,
  kCorrupt = 11,
  kMapFull = 12,
  kReadOnly = 13,
  kTimedOut = 14,
};

struct [[nodiscard]] Fault {
  Failure failure = Failure::kNone;
  // What was being done; lives for ever.
  const char* step = "";
  std::int64_t code = 0;
  std::uint64_t limit = 0;
  std::uint64_t actual = 0;

  explicit operator bool() const { return failure != Failure::kNone; }
};

// The fault of a code that LMDB or the system gave. REQUIRES: `code` is not 0.
Fault FaultOf(int code, const char* step);

}  // namespace wafstate
