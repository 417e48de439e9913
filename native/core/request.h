// Requests: what a front door wants done, as it crosses from TypeScript.
//
//   batch    := request*
//   request  := size:u32 recordBytes:u32 variables:u16 writes:u16 now:i64 write{writes}
//   write    := space:u8 applicationIdLength:u8 keyLength:u16 expectation:u8 flags:u8 mutations:u16
//               revision:u64 timeout:i64 applicationId key mutation{mutations}
//   mutation := operation:u8 flags:u8 nameLength:u16 name operands
//
// docs/format.md has the ranges. A request is read and checked whole before anything of it is done.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/record.h"

namespace wafstate {

enum class Operation : std::uint8_t {
  kSet = 1,
  kRemove = 2,
  kAdd = 3,
  kSubtract = 4,
  kExpire = 5,
  kDeprecate = 6,
  kTimeout = 7,
  kRemoveRecord = 8,
};

struct Mutation {
  Bytes name;   // empty for kTimeout and kRemoveRecord
  Bytes value;  // kSet
  // kAdd, kSubtract: the delta. kExpire: the deadline. kDeprecate: the amount. kTimeout: the duration, 0 =
  // none.
  std::int64_t operand = 0;
  std::int64_t period = 0;  // kDeprecate
  std::int64_t at = 0;      // kDeprecate
  Operation operation = Operation::kSet;
  bool only_if_none = false;  // kExpire
  bool saturates = false;     // kAdd, kSubtract
};

enum class Expectation : std::uint8_t { kAny = 0, kAbsent = 1, kRevision = 2 };

struct Write {
  RecordName name;
  Expectation expectation = Expectation::kAny;
  std::uint64_t expected_revision = 0;
  std::optional<std::int64_t> timeout;
  // Its mutations are those of the request from here on.
  std::size_t first_mutation = 0;
  std::size_t mutation_count = 0;
};

// A request as read. Its names and values lie in the bytes it was read from. Read again into the same object,
// it allocates nothing once it has held as much.
class Request {
 public:
  // False where the bytes are not exactly one sound request; the object then holds none.
  [[nodiscard]] bool Parse(Bytes bytes);

  [[nodiscard]] std::int64_t now() const { return now_; }
  [[nodiscard]] std::uint32_t record_bytes_limit() const { return record_bytes_limit_; }
  [[nodiscard]] std::uint16_t variables_limit() const { return variables_limit_; }
  [[nodiscard]] std::span<const Write> writes() const { return writes_; }
  [[nodiscard]] std::span<const Mutation> mutations(const Write& write) const {
    return std::span(mutations_).subspan(write.first_mutation, write.mutation_count);
  }

 private:
  [[nodiscard]] bool ParseBody(Bytes bytes);
  [[nodiscard]] bool ParseWrite(ByteReader& reader);
  [[nodiscard]] bool ParseMutation(ByteReader& reader);

  std::int64_t now_ = 0;
  std::uint32_t record_bytes_limit_ = 0;
  std::uint16_t variables_limit_ = 0;
  std::vector<Write> writes_;
  std::vector<Mutation> mutations_;
};

// Cuts a batch into its requests by their size fields.
class BatchReader {
 public:
  explicit BatchReader(Bytes batch) : rest_(batch) {}

  // False at the end. Where a size field is unsound, all that is left is given as one last request, which no
  // Request::Parse accepts.
  [[nodiscard]] bool Next(Bytes& request);

 private:
  Bytes rest_;
};

}  // namespace wafstate
