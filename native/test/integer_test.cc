// Integers as src/contract/variable.ts has them.

#include "core/integer.h"

#include <limits>
#include <string>
#include <string_view>

#include "test/check.h"

namespace {

using wafstate::Bytes;
using wafstate::CheckedAdd;
using wafstate::CheckedSubtract;
using wafstate::Decayed;
using wafstate::Decimal;
using wafstate::DecimalBytes;
using wafstate::ParseCanonical;
using wafstate::ParseInteger;
using wafstate::SaturatingAdd;
using wafstate::ToBytes;
using wafstate::WholePeriods;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::string Text(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

struct Parsed {
  std::string_view text;
  std::int64_t value;
};

TEST_CASE(ParsesWhatLooksLikeANumber) {
  const Parsed table[] = {
      {"", 0},
      {"0", 0},
      {"-0", 0},
      {"+", 0},
      {"-", 0},
      {"--1", 0},
      {"+-1", 0},
      {"abc", 0},
      {"12x", 12},
      {"1.9", 1},
      {".9", 0},
      {"0x10", 0},
      {"1e3", 1},
      {"+7", 7},
      {"-7", -7},
      {"- 7", 0},
      {"\t\n\v\f\r 42", 42},
      {" -42 ", -42},
      {std::string_view("\0"
                        "5",
                        2),
       0},
      {"\xA0"
       "5",
       0},
      {"\x08"
       "5",
       0},
      {"\x0e"
       "5",
       0},
      {"\x1f"
       "5",
       0},
      {"007", 7},
      {"-000", 0},
      {"00000000000000000000000000000000000000009", 9},
      {"00000000000000000009223372036854775807", kMax},
      {"9223372036854775806", kMax - 1},
      {"9223372036854775807", kMax},
      {"9223372036854775808", 0},
      {"-9223372036854775807", kMin + 1},
      {"-9223372036854775808", kMin},
      {"-9223372036854775809", 0},
      {"9999999999999999999", 0},
      {"10000000000000000000", 0},
      {"18446744073709551617", 0},
      {"99999999999999999999999999999999", 0},
      {"9223372036854775807x", kMax},
      {"92233720368547758070", 0},
  };
  for (const Parsed& row : table)
    CHECK(ParseInteger(ToBytes(row.text)) == row.value);
}

TEST_CASE(AcceptsOnlyTheCanonicalDecimal) {
  const std::string_view canonical[] = {
      "0", "1", "-1", "9", "10", "-10", "9223372036854775807", "-9223372036854775808"};
  for (const std::string_view text : canonical) {
    const auto value = ParseCanonical(ToBytes(text));
    CHECK(value.has_value());
    CHECK(Text(Decimal(value.value_or(7)).bytes()) == text);
    CHECK(*value == ParseInteger(ToBytes(text)));
  }
  const std::string_view others[] = {"",
                                     "-",
                                     "+1",
                                     "-0",
                                     "00",
                                     "01",
                                     "-01",
                                     " 1",
                                     "1 ",
                                     "1x",
                                     "x",
                                     "/",
                                     ":",
                                     "9223372036854775808",
                                     "-9223372036854775809",
                                     "10000000000000000000",
                                     "-10000000000000000000",
                                     "100000000000000000000"};
  for (const std::string_view text : others)
    CHECK(!ParseCanonical(ToBytes(text)).has_value());
}

TEST_CASE(CountsTheBytesOfDecimals) {
  CHECK(DecimalBytes(0) == 1);
  CHECK(DecimalBytes(kMin) == 20);
  CHECK(DecimalBytes(kMax) == 19);
  std::int64_t power = 1;
  for (int digits = 1; digits <= 19; ++digits) {
    for (const std::int64_t value : {power - 1, power, power + 1, -power + 1, -power, -power - 1}) {
      CHECK(DecimalBytes(value) == Decimal(value).bytes().size());
    }
    if (digits < 19) power *= 10;
  }
}

TEST_CASE(AddsWithinRange) {
  CHECK(CheckedAdd(kMax, 0) == kMax);
  CHECK(CheckedAdd(kMax - 1, 1) == kMax);
  CHECK(!CheckedAdd(kMax, 1));
  CHECK(CheckedAdd(kMin + 1, -1) == kMin);
  CHECK(!CheckedAdd(kMin, -1));
  CHECK(CheckedAdd(kMin, kMax) == -1);
  CHECK(!CheckedAdd(kMin, kMin));
  CHECK(!CheckedAdd(kMax, kMax));
  CHECK(CheckedSubtract(-1, kMin) == kMax);
  CHECK(!CheckedSubtract(0, kMin));
  CHECK(CheckedSubtract(kMin, 0) == kMin);
  CHECK(!CheckedSubtract(kMin, 1));
  CHECK(!CheckedSubtract(-2, kMax));
  CHECK(CheckedSubtract(-1, kMax) == kMin);
  CHECK(CheckedSubtract(kMin, kMin) == 0);
  CHECK(SaturatingAdd(kMax, 1) == kMax);
  CHECK(SaturatingAdd(kMin, -1) == kMin);
  CHECK(SaturatingAdd(1, 2) == 3);
}

TEST_CASE(DecaysByWholePeriods) {
  CHECK(WholePeriods(0, 0, 1) == 0);
  CHECK(WholePeriods(5, 4, 1) == 0);
  CHECK(WholePeriods(0, 9, 10) == 0);
  CHECK(WholePeriods(0, 10, 10) == 1);
  CHECK(WholePeriods(0, 11, 10) == 1);
  CHECK(WholePeriods(kMin, kMax, 1) == std::numeric_limits<std::uint64_t>::max());
  CHECK(WholePeriods(kMin, kMax, kMax) == 2);
  CHECK(WholePeriods(kMax, kMin, 1) == 0);
  CHECK(Decayed(10, 3, 0) == 10);
  CHECK(Decayed(10, 3, 3) == 1);
  CHECK(Decayed(10, 3, 4) == 0);
  CHECK(Decayed(9, 3, 3) == 0);
  CHECK(Decayed(kMax, 1, static_cast<std::uint64_t>(kMax)) == 0);
  CHECK(Decayed(kMax, 1, static_cast<std::uint64_t>(kMax) - 1) == 1);
  CHECK(Decayed(kMax, kMax, std::numeric_limits<std::uint64_t>::max()) == 0);
  CHECK(Decayed(1, kMax, 1) == 0);
}

}  // namespace

TEST_MAIN("integer")
