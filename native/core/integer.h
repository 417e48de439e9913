// Signed 64-bit integers as values: read from text, written as text, added, and let decay. The rules are
// those of src/contract/variable.ts.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/bytes.h"

namespace wafstate {

// The longest decimal of a signed 64-bit integer: a sign and 19 digits.
constexpr std::size_t kMaxDecimalBytes = 20;

// What a value counts as in arithmetic: leading ASCII white space and one sign are skipped, then the decimal
// prefix counts. No digits, or a number beyond 64 bits, is 0.
[[nodiscard]] std::int64_t ParseInteger(Bytes text);

// The integer of which `text` is the canonical decimal: `0`, or an optional `-` and digits that begin with 1
// to 9.
[[nodiscard]] std::optional<std::int64_t> ParseCanonical(Bytes text);

// The canonical decimal, held by value.
class Decimal {
 public:
  explicit Decimal(std::int64_t value);
  [[nodiscard]] Bytes bytes() const { return Bytes(digits_).first(size_); }

 private:
  std::array<std::uint8_t, kMaxDecimalBytes> digits_;
  std::size_t size_;
};

// Bytes of the canonical decimal.
[[nodiscard]] std::size_t DecimalBytes(std::int64_t value);

// nullopt where the result is no signed 64-bit integer.
[[nodiscard]] inline std::optional<std::int64_t> CheckedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}
[[nodiscard]] inline std::optional<std::int64_t> CheckedSubtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  return __builtin_sub_overflow(a, b, &difference) ? std::nullopt : std::optional(difference);
}

// Held at the bounds of 64 bits.
[[nodiscard]] std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t SaturatingSubtract(std::int64_t a, std::int64_t b);

// Whole periods from `clock` to `at`. REQUIRES: period > 0.
[[nodiscard]] std::uint64_t WholePeriods(std::int64_t clock, std::int64_t at, std::int64_t period);

// max(0, value - amount * periods), whose middle may need 127 bits. REQUIRES: value > 0, amount > 0.
[[nodiscard]] std::int64_t Decayed(std::int64_t value, std::int64_t amount, std::uint64_t periods);

}  // namespace wafstate
