// When a stored record has something to clean up, and when nothing of it is left.
#pragma once

#include <cstdint>

#include "core/bytes.h"

namespace wafstate {

// Nanoseconds since the epoch; INT64_MAX = never, INT64_MIN = now.
struct RecordDeadlines {
  // The first deadline of a variable, or the end.
  std::int64_t next;
  // When it is timed out, or the last of its variables expires; now where it has none.
  std::int64_t end;
  // The last deadline of a variable; INT64_MIN where none has one.
  std::int64_t longest;
};

// Constant time a variable. REQUIRES: the record is sound, as one that `Applier` wrote.
[[nodiscard]] RecordDeadlines DeadlinesOf(Bytes record);

}  // namespace wafstate
