// Where the fields of a sound record stand, for who reads a few of them without a check. The grammar is that
// of core/record.h.
#pragma once

#include "core/record.h"

namespace wafstate {

constexpr std::size_t kVersionAt = 2;
constexpr std::size_t kFlagsAt = 3;
constexpr std::size_t kSpaceAt = 4;
constexpr std::size_t kApplicationIdLengthAt = 5;
constexpr std::size_t kKeyLengthAt = 6;
constexpr std::size_t kRevisionAt = 8;
constexpr std::size_t kCreatedAt = 16;
constexpr std::size_t kUpdatedAt = 24;
// 48 bits, and the variable count in the next 16.
constexpr std::size_t kUpdateCountAt = 32;
constexpr std::size_t kVariableCountAt = 38;

constexpr std::uint8_t kHasTimeout = 1;

constexpr std::uint8_t kKindMask = 3;
constexpr std::uint8_t kNoKind = 3;
constexpr std::uint8_t kHasDeadline = 4;
constexpr std::uint8_t kHasClock = 8;

// Of a variable: what stands before its name.
constexpr std::size_t kVariableHeadBytes = 3;

// The application id and the key begin here.
[[nodiscard]] inline std::size_t NameOffset(const std::uint8_t* record) {
  return kRecordHeaderBytes + ((record[kFlagsAt] & kHasTimeout) != 0 ? 8 : 0);
}

[[nodiscard]] inline std::size_t VariablesOffset(const std::uint8_t* record) {
  return NameOffset(record) + record[kApplicationIdLengthAt] + Load<std::uint16_t>(record + kKeyLengthAt);
}

struct StoredVariable {
  std::size_t name_bytes;
  // From where the variable begins; 0 = it has no deadline.
  std::size_t deadline_offset;
  std::size_t value_offset;
  // All of it.
  std::size_t bytes;
  ValueKind kind;
};

// REQUIRES: a variable of a sound record begins at `at`.
[[nodiscard]] inline StoredVariable StoredVariableAt(const std::uint8_t* at) {
  StoredVariable stored{};
  stored.name_bytes = Load<std::uint16_t>(at);
  const std::uint8_t tag = at[2];
  std::size_t offset = kVariableHeadBytes + stored.name_bytes;
  if ((tag & kHasDeadline) != 0) {
    stored.deadline_offset = offset;
    offset += 8;
  }
  if ((tag & kHasClock) != 0) offset += 8;
  stored.value_offset = offset;
  stored.kind = static_cast<ValueKind>(tag & kKindMask);
  if (stored.kind == ValueKind::kInteger) offset += 8;
  if (stored.kind == ValueKind::kBytes) offset += 4 + std::size_t{Load<std::uint32_t>(at + offset)};
  stored.bytes = offset;
  return stored;
}

}  // namespace wafstate
