// The record's bytes: one worked by hand, and everything that is not one.

#include "core/record.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "core/checksum.h"
#include "core/record_key.h"
#include "core/sweep.h"
#include "test/bytes_in_text.h"
#include "test/check.h"
#include "test/record_builder.h"

namespace {

using wafstate::Buffer;
using wafstate::Bytes;
using wafstate::Checksum;
using wafstate::Corruption;
using wafstate::RecordFacts;
using wafstate::RecordName;
using wafstate::RecordView;
using wafstate::RecordWriter;
using wafstate::Store;
using wafstate::Sweep;
using wafstate::SweepOutcome;
using wafstate::SweepResult;
using wafstate::ToBytes;
using wafstate::ValueKind;
using wafstate::Variable;
using wafstate::VariableCursor;
using wafstate::test::FromHex;
using wafstate::test::kName;
using wafstate::test::MakeRecord;
using wafstate::test::Reseal;
using wafstate::test::ToText;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kCreated = 1'700'000'000 * kSecond;

// The dump of docs/format.md.
Buffer Golden() {
  return FromHex(
      "'WR' 01 01 01 04 0b00   7b401e18240a0600"
      "00002a36fe9c9717         0058712e0c9d9717"
      "030000000000 0300        00a0b83046030000"
      "'shop' '203.0.113.9'"
      "0700 04 'blocked'  00f8295f52a09717"
      "0800 05 'failures' 0058712e0c9d9717 0500000000000000"
      "0500 0a 'where'    00cac471fe9c9717 03000000 '/at'"
      "1bcf2cf0");
}

Corruption Check(const Buffer& bytes) {
  RecordView view;
  return view.Open(bytes);
}

TEST_CASE(ChecksumIsXxh32) {
  CHECK(Checksum({}) == 0x02CC5D05);
  CHECK(Checksum(ToBytes("a")) == 0x550D7456);
  CHECK(Checksum(ToBytes("abc")) == 0x32D153FF);
  CHECK(Checksum(ToBytes("Nobody inspects the spammish repetition")) == 0xE2293B2F);
  Buffer counting;
  for (std::uint8_t i = 0; i <= 100; ++i)
    counting.push_back(i);
  CHECK(Checksum(counting) == 0x1A20E95B);
}

TEST_CASE(ReadsTheGoldenRecord) {
  const Buffer golden = Golden();
  CHECK(golden.size() == 135);
  RecordView view;
  CHECK(view.Open(golden) == Corruption::kNone);
  CHECK(view.name().space == 1);
  CHECK(ToText(view.name().application_id) == "shop");
  CHECK(ToText(view.name().key) == "203.0.113.9");
  CHECK(view.revision() == 1'700'000'000'000'123);
  CHECK(view.facts().created == kCreated);
  CHECK(view.facts().updated == kCreated + 60 * kSecond);
  CHECK(view.facts().update_count == 3);
  CHECK(view.facts().timeout == 3600 * kSecond);
  CHECK(view.variable_count() == 3);

  VariableCursor cursor = view.variables();
  Variable variable;
  CHECK(cursor.Next(variable));
  CHECK(ToText(variable.name) == "blocked" && variable.kind == ValueKind::kNone);
  CHECK(variable.has_deadline && variable.deadline == kCreated + 3660 * kSecond);
  CHECK(variable.VisibleBytes() == 7);
  CHECK(cursor.Next(variable));
  CHECK(ToText(variable.name) == "failures" && variable.kind == ValueKind::kInteger && variable.integer == 5);
  CHECK(variable.has_deadline && variable.deadline == kCreated + 60 * kSecond);
  CHECK(variable.clock == kCreated);
  CHECK(variable.VisibleBytes() == 9);
  CHECK(cursor.Next(variable));
  CHECK(ToText(variable.name) == "where" && variable.kind == ValueKind::kBytes);
  CHECK(ToText(variable.bytes) == "/at" && !variable.has_deadline);
  CHECK(variable.clock == kCreated + kSecond);
  CHECK(variable.VisibleBytes() == 8);
  CHECK(!cursor.Next(variable));
  CHECK(cursor.corruption() == Corruption::kNone);
}

TEST_CASE(WritesTheGoldenRecord) {
  const RecordFacts facts{kCreated, kCreated + 60 * kSecond, 3, 3600 * kSecond};
  const Buffer bytes = MakeRecord(facts,
                                  {{"blocked", {}, kCreated + 3660 * kSecond, 0},
                                   {"failures", "5", kCreated + 60 * kSecond, kCreated},
                                   {"where", "/at", {}, kCreated + kSecond}},
                                  1'700'000'000'000'123);
  CHECK(bytes == Golden());
}

TEST_CASE(RejectsEveryTruncationAndEveryExtraByte) {
  const Buffer golden = Golden();
  for (std::size_t size = 0; size < golden.size(); ++size) {
    Buffer cut(golden.begin(), golden.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(Check(cut) == (size < 44 ? Corruption::kTooShort : Corruption::kChecksum));
    if (size < 44) continue;
    Reseal(cut);
    const Corruption corruption = Check(cut);
    CHECK(corruption == Corruption::kTruncated);
  }
  Buffer longer = golden;
  longer.push_back(0);
  Reseal(longer);
  CHECK(Check(longer) == Corruption::kTrailing);
}

TEST_CASE(RejectsEveryFlippedBit) {
  const Buffer golden = Golden();
  for (std::size_t bit = 0; bit < golden.size() * 8; ++bit) {
    Buffer damaged = golden;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    const Corruption expected = bit < 16   ? Corruption::kMagic
                                : bit < 24 ? Corruption::kVersion
                                           : Corruption::kChecksum;
    CHECK(Check(damaged) == expected);
  }
}

TEST_CASE(NeverReadsBeyondAFlippedBitThatIsSealed) {
  const Buffer golden = Golden();
  for (std::size_t bit = 0; bit < (golden.size() - 4) * 8; ++bit) {
    // An allocation of exactly this size: a sanitizer sees the first byte too many.
    Buffer damaged = golden;
    damaged.shrink_to_fit();
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    Reseal(damaged);
    RecordView view;
    if (view.Open(damaged) != Corruption::kNone) continue;
    // What is accepted is canonical: it is written as it was read.
    Buffer again;
    RecordWriter writer(again, view.name(), view.facts(), view.revision(), view.variable_count());
    VariableCursor cursor = view.variables();
    for (Variable variable; cursor.Next(variable);)
      writer.Add(variable);
    writer.Finish();
    CHECK(again == damaged);
  }
}

struct Damage {
  Corruption reason;
  std::function<void(Buffer&)> inflict;
};

TEST_CASE(NamesTheReason) {
  const auto put = [](std::size_t at, std::uint8_t value) {
    return [=](Buffer& bytes) { bytes[at] = value; };
  };
  const auto put64 = [](std::size_t at, std::uint64_t value) {
    return [=](Buffer& bytes) { Store(bytes.data() + at, value); };
  };
  // Offsets in the golden record: variables begin at 63, 81 and 108.
  const Damage damages[] = {
      {Corruption::kFlags, put(3, 3)},
      {Corruption::kSpace, put(4, 0)},
      {Corruption::kSpace, put(4, 6)},
      {Corruption::kSpace, put(4, 15)},
      {Corruption::kNone, put(4, 5)},
      {Corruption::kNone, put(4, 16)},
      {Corruption::kNone, put(4, 255)},
      {Corruption::kKeyLength, put(6, 0)},
      {Corruption::kKeyLength, [](Buffer& bytes) { Store(bytes.data() + 6, std::uint16_t{1025}); }},
      {Corruption::kTruncated, [](Buffer& bytes) { Store(bytes.data() + 6, std::uint16_t{1024}); }},
      {Corruption::kTruncated, put(5, 255)},
      {Corruption::kRevision, put64(8, 0)},
      {Corruption::kRevision, put64(8, wafstate::kMaxRevision + 1)},
      {Corruption::kNone, put64(8, wafstate::kMaxRevision)},
      {Corruption::kUpdateCount, put64(32, std::uint64_t{3} << 48)},
      {Corruption::kNone, put64(32, std::uint64_t{3} << 48 | wafstate::kMaxUpdateCount)},
      {Corruption::kTimeout, put64(40, 0)},
      {Corruption::kTimeout, put64(40, std::numeric_limits<std::uint64_t>::max())},
      {Corruption::kNone, put64(40, 1)},
      {Corruption::kTrailing, put(38, 2)},
      {Corruption::kTruncated, put(38, 4)},
      {Corruption::kNameLength, put(63, 0)},
      {Corruption::kTag, put(65, 7)},
      {Corruption::kTag, put(65, 16 + 4)},
      {Corruption::kTag, put(65, 128 + 4)},
      {Corruption::kValueless, put(65, 0)},
      {Corruption::kValueless, put(65, 8)},
      {Corruption::kValueless, put(65, 12)},
      {Corruption::kNameCase, put(66, 'A')},
      {Corruption::kNameCase, put(72, 'Z')},
      {Corruption::kNone, put(66, '@')},
      {Corruption::kNone, put(66, '[')},
      {Corruption::kNameOrder, put(66, 'z')},
      {Corruption::kNameOrder, put(84, 'a')},
      {Corruption::kClock, put64(116, static_cast<std::uint64_t>(kCreated))},
      {Corruption::kInteger, [](Buffer& bytes) { std::copy_n("123", 3, bytes.data() + 128); }},
      {Corruption::kInteger, [](Buffer& bytes) { std::copy_n("-12", 3, bytes.data() + 128); }},
      {Corruption::kNone, [](Buffer& bytes) { std::copy_n("012", 3, bytes.data() + 128); }},
      {Corruption::kTruncated, put(124, 4)},
      {Corruption::kTruncated, put(127, 255)},
      {Corruption::kTrailing, put(124, 2)},
  };
  for (const Damage& damage : damages) {
    Buffer bytes = Golden();
    damage.inflict(bytes);
    Reseal(bytes);
    CHECK(Check(bytes) == damage.reason);
  }
}

TEST_CASE(HoldsTheLargestFields) {
  const std::string application_id(255, '\xff');
  for (const std::size_t key_size : {1UL, 255UL, 256UL, 1023UL, 1024UL}) {
    for (const std::size_t name_size : {1UL, 255UL, 256UL, 65'534UL, 65'535UL}) {
      const std::string key(key_size, 'K');
      const std::string name(name_size, '\xff');
      const std::string value(70'000, 'v');
      const RecordName record_name{255, ToBytes(application_id), ToBytes(key)};
      const std::int64_t least = std::numeric_limits<std::int64_t>::min();
      const Buffer bytes = MakeRecord({least, least, 1, {}}, {{name, value, least, least}}, 1, record_name);
      RecordView view;
      CHECK(view.Open(bytes) == Corruption::kNone);
      CHECK(view.name().key.size() == key_size);
      Variable variable;
      VariableCursor cursor = view.variables();
      CHECK(cursor.Next(variable) && variable.VisibleBytes() == name_size + value.size());
    }
  }
}

TEST_CASE(ComparesNamesAsUnsignedBytes) {
  CHECK(
      Check(MakeRecord({0, 0, 1, {}},
                       {{"a", "x"}, {"aa", "x"}, {"b", "x"}, {"\x7f", "x"}, {"\x80", "x"}, {"\xff", "x"}})) ==
      Corruption::kNone);
  CHECK(Check(MakeRecord({0, 0, 1, {}}, {{"aa", "x"}, {"a", "x"}})) == Corruption::kNameOrder);
  CHECK(Check(MakeRecord({0, 0, 1, {}}, {{"a", "x"}, {"a", "x"}})) == Corruption::kNameOrder);
}

TEST_CASE(TimesOutAtTheBoundsOfTime) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(!RecordFacts({0, 10, 1, {}}).IsTimedOut(most));
  CHECK(!RecordFacts({0, 10, 1, 5}).IsTimedOut(14));
  CHECK(RecordFacts({0, 10, 1, 5}).IsTimedOut(15));
  CHECK(!RecordFacts({0, most - 1, 1, most}).IsTimedOut(most - 1));
  CHECK(RecordFacts({0, most - 1, 1, most}).IsTimedOut(most));
}

TEST_CASE(KeysGoThereAndBack) {
  Buffer key;
  wafstate::AppendRecordKey(key, kName);
  CHECK(key == FromHex("01 04 'shop' '203.0.113.9'"));
  RecordName name;
  CHECK(wafstate::ParseRecordKey(key, name));
  CHECK(name.space == 1 && ToText(name.application_id) == "shop" && ToText(name.key) == "203.0.113.9");
  CHECK(!wafstate::ParseRecordKey({}, name));
  CHECK(!wafstate::ParseRecordKey(FromHex("01"), name));
  CHECK(!wafstate::ParseRecordKey(FromHex("00 00 'k'"), name));
  CHECK(!wafstate::ParseRecordKey(FromHex("06 00 'k'"), name));
  CHECK(!wafstate::ParseRecordKey(FromHex("01 00"), name));
  CHECK(!wafstate::ParseRecordKey(FromHex("01 02 'ab'"), name));
  CHECK(wafstate::ParseRecordKey(FromHex("01 02 'abc'"), name));
  Buffer longest = FromHex("10 00");
  longest.resize(2 + 1024, 'k');
  CHECK(wafstate::ParseRecordKey(longest, name));
  longest.push_back('k');
  CHECK(!wafstate::ParseRecordKey(longest, name));
}

TEST_CASE(SweepsWhatIsOver) {
  Buffer swept;
  const Buffer mixed = MakeRecord({5, 6, 2, {}}, {{"a", "1", 10, 5}, {"b", "x", {}, 6}, {"c", {}, 11}});
  SweepResult result = Sweep(mixed, 9, 8, swept);
  CHECK(result.outcome == SweepOutcome::kUnchanged && swept.empty());
  CHECK(result.variables_examined == 3 && result.variables_removed == 0);
  result = Sweep(mixed, 10, 8, swept);
  CHECK(result.outcome == SweepOutcome::kRewritten && result.variables_removed == 1);
  CHECK(swept == MakeRecord({5, 6, 2, {}}, {{"b", "x", {}, 6}, {"c", {}, 11}}, 8));

  swept.clear();
  CHECK(Sweep(MakeRecord({5, 6, 2, {}}, {{"a", "1", 10, 5}}), 10, 8, swept).outcome == SweepOutcome::kRemove);
  CHECK(Sweep(MakeRecord({5, 6, 2, {}}, {}), 10, 8, swept).outcome == SweepOutcome::kRemove);
  result = Sweep(MakeRecord({5, 6, 2, 4}, {{"a", "1", {}, 5}}), 10, 8, swept);
  CHECK(result.outcome == SweepOutcome::kRemove && result.variables_removed == 1);
  CHECK(Sweep(FromHex("00"), 10, 8, swept).corruption == Corruption::kTooShort);
  Buffer damaged = mixed;
  damaged[damaged.size() - 5] = 'Z';
  Reseal(damaged);
  CHECK(swept.empty());
}

}  // namespace

TEST_MAIN("record")
