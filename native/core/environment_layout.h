// What wafstate keeps in an LMDB environment beside records: keys of space 0, integers little-endian. The
// TypeScript implementation has the same in src/backend/lmdb/layout.ts; docs/lmdb.md draws it.
//
//   00 01   environment: "WE" format:u8=1 durability:u8 (1 durable, 2 relaxed)
//   00 02   u64, the last revision given out
//   00 03   the key that the last cleanup looked at last; absent: the next one begins at the first record
//   00 04   i64, when the last sweep began, nanoseconds since the epoch by the system's clock
//   00 05…  of writers in TypeScript; the C++ writer needs none
#pragma once

#include <lmdb.h>

#include "core/bytes.h"
#include "core/record.h"

namespace wafstate {

constexpr const char* kGateDirectory = "/gate";

inline constexpr std::uint8_t kEnvironmentKey[] = {0, 1};
inline constexpr std::uint8_t kRevisionKey[] = {0, 2};
inline constexpr std::uint8_t kCursorKey[] = {0, 3};
inline constexpr std::uint8_t kSweepKey[] = {0, 4};
// The first key that can be a record's.
inline constexpr std::uint8_t kFirstRecordKey[] = {1};

// LMDB's own number for the database that lists free pages.
constexpr MDB_dbi kFreeListDatabase = 0;

constexpr std::uint8_t kEnvironmentFormat = 1;
constexpr std::uint8_t kDurable = 1;
constexpr std::uint8_t kRelaxed = 2;

inline MDB_val ToValue(Bytes bytes) {
  // LMDB's API has no const, but reads only where it is handed keys and data.
  return {bytes.size(), const_cast<std::uint8_t*>(bytes.data())};
}

inline Bytes FromValue(const MDB_val& value) {
  return {static_cast<const std::uint8_t*>(value.mv_data), value.mv_size};
}

// Checks a record and that it is the one its key names.
[[nodiscard]] Corruption OpenStored(Bytes key, Bytes record, RecordView& view);
// The same, but leaves the variables to the cursor: see RecordView::OpenHeader.
[[nodiscard]] Corruption OpenStoredHeader(Bytes key, Bytes record, RecordView& view);

}  // namespace wafstate
