#include "core/record_deadlines.h"

#include <algorithm>

#include "core/integer.h"
#include "core/record.h"

namespace wafstate {

RecordDeadlines DeadlinesOf(Bytes record) {
  // The layout stands in core/record.h. RecordView would check what is known to be sound.
  const std::uint8_t* at = record.data();
  const bool has_timeout = (at[3] & 1) != 0;
  const std::size_t count = Load<std::uint16_t>(at + 38);
  RecordDeadlines deadlines{.next = INT64_MAX, .end = INT64_MIN, .longest = INT64_MIN};
  std::int64_t timed_out = INT64_MAX;
  if (has_timeout) timed_out = SaturatingAdd(Load<std::int64_t>(at + 24), Load<std::int64_t>(at + 40));
  at += kRecordHeaderBytes + (has_timeout ? 8 : 0) + at[5] + Load<std::uint16_t>(at + 6);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t name = Load<std::uint16_t>(at);
    const std::uint8_t tag = at[2];
    at += 3 + name;
    std::int64_t deadline = INT64_MAX;
    if ((tag & 4) != 0) {
      deadline = Load<std::int64_t>(at);
      deadlines.next = std::min(deadlines.next, deadline);
      deadlines.longest = std::max(deadlines.longest, deadline);
      at += 8;
    }
    deadlines.end = std::max(deadlines.end, deadline);
    if ((tag & 8) != 0) at += 8;
    const auto kind = static_cast<ValueKind>(tag & 3);
    if (kind == ValueKind::kInteger) at += 8;
    if (kind == ValueKind::kBytes) at += 4 + std::size_t{Load<std::uint32_t>(at)};
  }
  deadlines.end = std::min(deadlines.end, timed_out);
  deadlines.next = std::min(deadlines.next, deadlines.end);
  return deadlines;
}

}  // namespace wafstate
