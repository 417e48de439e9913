// One record: its bytes, checked and read, and written.
//
//   record   := "WR" version:u8=1 flags:u8 space:u8 applicationIdLength:u8 keyLength:u16
//               revision:u64 created:i64 updated:i64 updateCount:u48 variableCount:u16
//               [timeout:i64]                                           flags bit 0
//               applicationId key variable* checksum:u32                XXH32 of all before it
//   variable := nameLength:u16 tag:u8 name
//               [deadline:i64]                                          tag bit 2
//               [clock:i64]                                             tag bit 3: differs from `created`
//               integer:i64 | length:u32 bytes                          tag bits 0-1: 1 | 2; 0 = no value
//
// Little-endian, unaligned, canonical: docs/format.md has the rules, and the order in which they are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/bytes.h"

namespace wafstate {

constexpr std::uint8_t kSchemaVersion = 1;
constexpr std::size_t kRecordHeaderBytes = 40;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kMaxApplicationIdBytes = 255;
constexpr std::size_t kMaxKeyBytes = 1024;
constexpr std::size_t kMaxNameBytes = 65'535;
constexpr std::size_t kMaxVariables = 65'535;
constexpr std::uint64_t kMaxRevision = (std::uint64_t{1} << 53) - 1;
constexpr std::uint64_t kMaxUpdateCount = (std::uint64_t{1} << 48) - 1;

// Why bytes are no record: the numbers of docs/format.md and of src/record/corruption.ts, where the words for
// them are.
enum class Corruption : std::uint8_t {
  kNone = 0,
  kTooShort = 1,
  kMagic = 2,
  kVersion = 3,
  kChecksum = 4,
  kFlags = 5,
  kSpace = 6,
  kKeyLength = 7,
  kRevision = 8,
  kUpdateCount = 9,
  kTimeout = 10,
  kTruncated = 11,
  kNameLength = 12,
  kTag = 13,
  kValueless = 14,
  kNameCase = 15,
  kNameOrder = 16,
  kClock = 17,
  kInteger = 18,
  kTrailing = 19,
  kOtherName = 20,
};

[[nodiscard]] constexpr bool IsSpace(std::uint8_t space) {
  return (space >= 1 && space <= 5) || space >= 16;
}

enum class ValueKind : std::uint8_t { kNone = 0, kInteger = 1, kBytes = 2 };

// A variable whose name and bytes lie in someone else's memory.
struct Variable {
  Bytes name;
  Bytes bytes;               // of kBytes
  std::int64_t integer = 0;  // of kInteger
  std::int64_t deadline = 0;
  std::int64_t clock = 0;  // of kInteger and kBytes
  ValueKind kind = ValueKind::kNone;
  bool has_deadline = false;

  [[nodiscard]] bool IsExpired(std::int64_t now) const { return has_deadline && deadline <= now; }
  [[nodiscard]] bool IsVisible(std::int64_t now) const { return kind != ValueKind::kNone && !IsExpired(now); }
  // Takes the bytes as they are, or as the integer of which they are the canonical decimal.
  void SetValue(Bytes value);
  // Bytes of the name and of the value as a reader sees it: what `recordBytes` bounds.
  [[nodiscard]] std::size_t VisibleBytes() const;
};

struct RecordName {
  std::uint8_t space = 0;
  Bytes application_id;
  Bytes key;
};

[[nodiscard]] inline bool IsSame(const RecordName& a, const RecordName& b) {
  return a.space == b.space && Equal(a.application_id, b.application_id) && Equal(a.key, b.key);
}

// Nanoseconds, since the epoch where they are times.
struct RecordFacts {
  std::int64_t created = 0;
  std::int64_t updated = 0;
  std::uint64_t update_count = 0;
  std::optional<std::int64_t> timeout;

  [[nodiscard]] bool IsTimedOut(std::int64_t now) const;
};

// Walks the variables of a record and checks each on its way.
class VariableCursor {
 public:
  VariableCursor() = default;
  // REQUIRES: `variables` is what stands between the key and the checksum or the end.
  VariableCursor(Bytes variables, std::size_t count, std::int64_t created)
      : reader_(variables), created_(created), left_(count) {}

  // The next variable; false at the end and at damage, which corruption() tells apart.
  [[nodiscard]] bool Next(Variable& variable);
  [[nodiscard]] Corruption corruption() const { return corruption_; }
  // Bytes of variables read so far.
  [[nodiscard]] std::size_t offset() const { return reader_.offset(); }

 private:
  [[nodiscard]] Corruption Parse(Variable& variable);

  ByteReader reader_;
  Bytes previous_;
  std::int64_t created_ = 0;
  std::size_t left_ = 0;
  Corruption corruption_ = Corruption::kNone;
};

// Whether a record ends with its checksum or goes without. Where only this program can reach it, what damages
// a record could as well damage what leads there, and a checksum takes longer than the rest of a commit.
enum class Seal : std::uint8_t { kChecksum, kNone };

// A record in someone else's memory, nothing copied.
class RecordView {
 public:
  // Checks every byte. The view may be used only where this gives kNone.
  [[nodiscard]] Corruption Open(Bytes record);
  // Checks all but the variables: for who walks them next and uses nothing before the cursor came to the end
  // without damage. Of Open and this, this is the one pass.
  [[nodiscard]] Corruption OpenHeader(Bytes record, Seal seal = Seal::kChecksum);

  [[nodiscard]] const RecordName& name() const { return name_; }
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  [[nodiscard]] const RecordFacts& facts() const { return facts_; }
  [[nodiscard]] std::size_t variable_count() const { return variable_count_; }
  // What stands between the key and the checksum or the end.
  [[nodiscard]] Bytes variable_bytes() const { return variables_; }
  [[nodiscard]] VariableCursor variables() const { return {variables_, variable_count_, facts_.created}; }

 private:
  RecordName name_;
  RecordFacts facts_;
  std::uint64_t revision_ = 0;
  std::size_t variable_count_ = 0;
  Bytes variables_;
};

// Writes a record into a buffer, front to back, after what the buffer holds.
// REQUIRES: fields within their ranges and variables in order; RecordView::Open on the result tells.
class RecordWriter {
 public:
  RecordWriter(Buffer& buffer, const RecordName& name, const RecordFacts& facts, std::uint64_t revision,
               std::size_t variable_count);
  void Add(const Variable& variable);
  // Variables as they stand in a record with the same `created`.
  void AddEncoded(Bytes variables) { Append(buffer_, variables); }
  // Writes the checksum, if there is to be one; nothing may follow.
  void Finish(Seal seal = Seal::kChecksum);

 private:
  Buffer& buffer_;
  std::size_t start_;
  std::int64_t created_;
};

// Appends its checksum to the record that begins at `start` and has none yet.
void SealRecord(Buffer& buffer, std::size_t start);

// Brings a record whose values were changed in place up to date: revision, time, count and seal.
// REQUIRES: but for the seal it is a record.
void UpdateRecord(std::span<std::uint8_t> record, std::uint64_t revision, std::int64_t now, Seal seal);

}  // namespace wafstate
