// What cleanup does to one record: drops what `now` has ended.
#pragma once

#include <cstdint>

#include "core/record.h"

namespace wafstate {

enum class SweepOutcome : std::uint8_t {
  kUnchanged,
  // The record without its expired variables was appended; everything but the revision is as it was.
  kRewritten,
  // It is timed out, or has no variable left: delete it.
  kRemove,
};

struct SweepResult {
  Corruption corruption = Corruption::kNone;
  SweepOutcome outcome = SweepOutcome::kUnchanged;
  // Of the record as it was, 0 to 65535; both are 0 where it is corrupt.
  std::size_t variables_examined = 0;
  std::size_t variables_removed = 0;
};

// Appends to `swept`, and uses `revision`, only with kRewritten: the caller may pass the next one it would
// take.
[[nodiscard]] SweepResult Sweep(Bytes record, std::int64_t now, std::uint64_t revision, Buffer& swept,
                                Seal seal = Seal::kChecksum);

}  // namespace wafstate
