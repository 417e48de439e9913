// The cleanup of an environment: bounded, and resumed by whichever process comes next.
#pragma once

#include "core/environment.h"

namespace wafstate {

struct SweepBudget {
  // Records to look at, at most.
  std::size_t records = 0;
  // Variables to look at, at most; a record is never split, and one is always looked at.
  std::size_t variables = 0;
};

struct EnvironmentSweepResult {
  // Another sweep began within the interval: nothing was done.
  bool skipped = false;
  std::size_t records_examined = 0;
  std::size_t records_removed = 0;
  std::size_t variables_removed = 0;
  // Whether the end was reached: the next sweep begins at the first record.
  bool wrapped = false;
};

// Sweeps records in byte order from where the last sweep stopped: see core/sweep.h. Corrupt records are left
// as they are. With an `interval` above 0 (nanoseconds of the system's clock) only one sweep of all processes
// begins within it.
Fault SweepEnvironment(Environment& environment, std::int64_t now, const SweepBudget& budget,
                       std::int64_t interval, EnvironmentSweepResult& result);

}  // namespace wafstate
