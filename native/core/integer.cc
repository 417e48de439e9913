#include "core/integer.h"

#include <charconv>
#include <limits>

namespace wafstate {

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Digits that fit in 64 bits whatever they are.
constexpr std::size_t kSafeDigits = 19;

bool IsDigit(std::uint8_t byte) {
  return byte >= '0' && byte <= '9';
}

bool IsSpaceByte(std::uint8_t byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

std::optional<std::int64_t> WithSign(std::uint64_t magnitude, bool negative) {
  // The negative range reaches one further, to 2^63.
  if (magnitude > static_cast<std::uint64_t>(kMax) + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

}  // namespace

std::int64_t ParseInteger(Bytes text) {
  std::size_t at = 0;
  while (at < text.size() && IsSpaceByte(text[at]))
    ++at;
  bool negative = false;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
  while (at < text.size() && text[at] == '0')
    ++at;
  std::uint64_t magnitude = 0;
  for (std::size_t digits = 0; at < text.size() && IsDigit(text[at]); ++at) {
    if (++digits > kSafeDigits) return 0;
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  return WithSign(magnitude, negative).value_or(0);
}

std::optional<std::int64_t> ParseCanonical(Bytes text) {
  if (text.empty() || text.size() > kMaxDecimalBytes) return std::nullopt;
  const bool negative = text[0] == '-';
  const Bytes digits = text.subspan(negative ? 1 : 0);
  if (digits.empty() || digits.size() > kSafeDigits) return std::nullopt;
  if (digits[0] == '0' && text.size() > 1) return std::nullopt;
  std::uint64_t magnitude = 0;
  for (const std::uint8_t digit : digits) {
    if (!IsDigit(digit)) return std::nullopt;
    magnitude = magnitude * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return WithSign(magnitude, negative);
}

Decimal::Decimal(std::int64_t value) {
  char* const begin = reinterpret_cast<char*>(digits_.data());
  size_ = static_cast<std::size_t>(std::to_chars(begin, begin + digits_.size(), value).ptr - begin);
}

std::size_t DecimalBytes(std::int64_t value) {
  const std::uint64_t magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::size_t bytes = value < 0 ? 2 : 1;
  std::uint64_t power = 10;
  for (std::size_t digits = 1; digits < kSafeDigits && magnitude >= power; ++digits, power *= 10)
    ++bytes;
  return bytes;
}

std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  return CheckedAdd(a, b).value_or(b > 0 ? kMax : kMin);
}

std::int64_t SaturatingSubtract(std::int64_t a, std::int64_t b) {
  return CheckedSubtract(a, b).value_or(b > 0 ? kMin : kMax);
}

std::uint64_t WholePeriods(std::int64_t clock, std::int64_t at, std::int64_t period) {
  if (at <= clock) return 0;
  // The distance of two signed times needs 64 bits without a sign.
  const std::uint64_t elapsed = static_cast<std::uint64_t>(at) - static_cast<std::uint64_t>(clock);
  return elapsed / static_cast<std::uint64_t>(period);
}

std::int64_t Decayed(std::int64_t value, std::int64_t amount, std::uint64_t periods) {
  // More periods than the value has whole amounts bring it below zero; so many or fewer cannot overflow.
  if (periods > static_cast<std::uint64_t>(value / amount)) return 0;
  return value - amount * static_cast<std::int64_t>(periods);
}

}  // namespace wafstate
