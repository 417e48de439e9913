// Answers: what became of each request, as it crosses back to TypeScript.
//
//   reply   := answer*
//   answer  := size:u32 status:u8=0 0:u8 writes:u16 result{writes}
//            | size:u32=28 status:u8 0:u8 write:u16 mutation:u32 limit:u64 actual:u64
//   result  := revision:u64 existed:u8 0:u8 touched:u16 value{touched}
//   value   := mutation:u16 tag:u8 0:u8 [deadline:i64] (integer:i64 | length:u32 bytes)
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/record.h"

namespace wafstate {

enum class Status : std::uint8_t {
  kApplied = 0,
  kConflict = 1,
  kMalformed = 2,
  kOverflow = 3,
  kTooManyVariables = 4,
  kRecordTooLarge = 5,
  kCorruptRecord = 6,
  kMapFull = 7,
  kRevisionsUsedUp = 8,
  kDiskFull = 9,
  kEngineError = 10,
  kNotExecuted = 11,
  kTableFull = 12,
};

constexpr std::uint32_t kNoMutation = 0xffff'ffff;
constexpr std::size_t kRefusalBytes = 28;

// Why a request was refused; with kApplied, that it was not.
struct Refusal {
  Status status = Status::kApplied;
  std::uint16_t write = 0;
  std::uint32_t mutation = kNoMutation;
  std::uint64_t limit = 0;
  std::uint64_t actual = 0;
};

constexpr std::size_t kTouchedHeaderBytes = 4;

// Bytes of a touched variable at most, beside those of its value.
constexpr std::size_t kMaxTouchedBytes = kTouchedHeaderBytes + 16;

// Write one touched variable and return where it ends. REQUIRES: room for it.
[[nodiscard]] inline std::uint8_t* WriteTouched(std::uint8_t* at, std::uint16_t mutation,
                                                const Variable& variable) {
  constexpr std::uint8_t kHasDeadline = 4;
  Store(at, mutation);
  at[2] = static_cast<std::uint8_t>(static_cast<std::uint8_t>(variable.kind) |
                                    (variable.has_deadline ? kHasDeadline : 0));
  at[3] = 0;
  at += kTouchedHeaderBytes;
  if (variable.has_deadline) {
    Store(at, variable.deadline);
    at += sizeof variable.deadline;
  }
  if (variable.kind == ValueKind::kInteger) {
    Store(at, variable.integer);
    at += sizeof variable.integer;
  } else if (variable.kind == ValueKind::kBytes) {
    Store(at, static_cast<std::uint32_t>(variable.bytes.size()));
    at = std::copy(variable.bytes.begin(), variable.bytes.end(), at + sizeof(std::uint32_t));
  }
  return at;
}
[[nodiscard]] inline std::uint8_t* WriteHidden(std::uint8_t* at, std::uint16_t mutation) {
  Store(at, mutation);
  Store(at + 2, std::uint16_t{0});
  return at + kTouchedHeaderBytes;
}

// Appends answers to a buffer. An answer is begun, filled and then either finished or replaced by a refusal,
// so that a request which fails at its last write leaves nothing of its first in the reply.
class ReplyWriter {
 public:
  explicit ReplyWriter(Buffer& buffer) : buffer_(buffer) {}

  void BeginAnswer();
  // The result of one write: as many calls of AddTouched or AddHidden as EndWrite is told.
  void BeginWrite(bool existed);
  // A touched variable that is visible, and one that is not. `mutation` is the first that touched it.
  void AddTouched(std::uint16_t mutation, const Variable& variable);
  void AddHidden(std::uint16_t mutation);
  // For many at once: room for `most` bytes, filled by WriteTouched and WriteHidden, then cut off at `end`.
  [[nodiscard]] std::uint8_t* BeginTouched(std::size_t most) { return Extend(buffer_, most); }
  void EndTouched(const std::uint8_t* end, std::size_t count) {
    buffer_.resize(static_cast<std::size_t>(end - buffer_.data()));
    touched_ = static_cast<std::uint16_t>(touched_ + count);
  }
  // `revision` 0: the record was removed.
  void EndWrite(std::uint64_t revision);
  void FinishAnswer();
  // Takes back what the answer holds so far.
  void Refuse(const Refusal& refusal);

 private:
  Buffer& buffer_;
  std::size_t answer_ = 0;
  std::size_t write_ = 0;
  std::uint16_t writes_ = 0;
  std::uint16_t touched_ = 0;
};

}  // namespace wafstate
