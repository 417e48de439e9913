#include "core/record_deadlines.h"

#include <algorithm>

#include "core/integer.h"
#include "core/record_layout.h"

namespace wafstate {

RecordDeadlines DeadlinesOf(Bytes record) {
  const std::uint8_t* at = record.data();
  RecordDeadlines deadlines{.next = INT64_MAX, .end = INT64_MIN, .longest = INT64_MIN};
  std::int64_t timed_out = INT64_MAX;
  if ((at[kFlagsAt] & kHasTimeout) != 0) {
    timed_out =
        SaturatingAdd(Load<std::int64_t>(at + kUpdatedAt), Load<std::int64_t>(at + kRecordHeaderBytes));
  }
  const std::size_t count = Load<std::uint16_t>(at + kVariableCountAt);
  at += VariablesOffset(at);
  for (std::size_t i = 0; i < count; ++i) {
    const StoredVariable variable = StoredVariableAt(at);
    std::int64_t deadline = INT64_MAX;
    if (variable.deadline_offset != 0) {
      deadline = Load<std::int64_t>(at + variable.deadline_offset);
      deadlines.next = std::min(deadlines.next, deadline);
      deadlines.longest = std::max(deadlines.longest, deadline);
    }
    deadlines.end = std::max(deadlines.end, deadline);
    at += variable.bytes;
  }
  deadlines.end = std::min(deadlines.end, timed_out);
  deadlines.next = std::min(deadlines.next, deadlines.end);
  return deadlines;
}

}  // namespace wafstate
