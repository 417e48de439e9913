// Records put back as they were: from a backup or an export.
//
// A batch cannot do that: it makes a record's facts from its own time and count. Here everything stays as it
// was but the revision, which is a new one, since a revision must never stand for two states.
#pragma once

#include "core/environment.h"

namespace wafstate {

// What becomes of a record whose place is taken. The numbers are those of `RESTORE` in
// src/backend/lmdb/native-addon.ts.
enum class RestoreConflict : std::uint8_t { kSkip = 0, kReplace = 1, kFail = 2 };

struct RestoreResult {
  std::size_t restored = 0;
  std::size_t skipped = 0;
  // With kFail, a place was taken: nothing was restored.
  bool conflict = false;
};

// Restores in one transaction: all or nothing. `records`: u32 length and the record, one after the other. A
// place is taken by a corrupt record, too, but not by one that is timed out at `now`. kCorrupt: one of them
// is no record; kMapFull: there is no room for all of them.
Fault RestoreRecords(Environment& environment, Bytes records, RestoreConflict conflict, std::int64_t now,
                     RestoreResult& result);

}  // namespace wafstate
