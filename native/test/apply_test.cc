// Applying one write to one record, rule by rule as docs/format.md numbers them.

#include "core/apply.h"

#include <limits>
#include <string>

#include "test/bytes_in_text.h"
#include "test/check.h"
#include "test/record_builder.h"

namespace {

using wafstate::Buffer;
using wafstate::Bytes;
using wafstate::Corruption;
using wafstate::Expectation;
using wafstate::kMaxRevision;
using wafstate::kMaxUpdateCount;
using wafstate::kNoMutation;
using wafstate::RecordName;
using wafstate::Status;
using wafstate::ToBytes;
using wafstate::test::Applied;
using wafstate::test::Apply;
using wafstate::test::BatchBuilder;
using wafstate::test::FromHex;
using wafstate::test::kName;
using wafstate::test::MakeRecord;
using wafstate::test::Reseal;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

BatchBuilder At(std::int64_t now, std::uint16_t variables = 4096, std::uint32_t record_bytes = 1 << 21) {
  return BatchBuilder().Begin(now, variables, record_bytes);
}

TEST_CASE(CreatesARecord) {
  const Applied applied = Apply({}, At(100).AddWrite({.timeout = 50}).Add("n", 2).Set("s", "x").bytes());
  CHECK(applied.record == MakeRecord({100, 100, 1, 50}, {{"n", "2", {}, 100}, {"s", "x", {}, 100}}, 8));
  CHECK(applied.answer == FromHex("29000000 00 00 0100  0800000000000000 00 00 0200"
                                  "0000 01 00 0200000000000000"
                                  "0100 02 00 01000000 'x'"));
}

TEST_CASE(AnswersByteForByte) {
  const Buffer existing = MakeRecord({1, 2, 1, {}}, {{"n", "41", 500, 1}});
  const Applied applied = Apply(
      existing, At(100).Write().Remove("gone").Add("n", 1).Set("s", "xy").Timeout(7).Add("n", 0).bytes());
  CHECK(applied.answer == FromHex("36000000 00 00 0100"
                                  "0800000000000000 01 00 0300"
                                  "0000 00 00"
                                  "0100 05 00 f401000000000000 2a00000000000000"
                                  "0200 02 00 02000000 'xy'"));
  CHECK(applied.record == MakeRecord({1, 100, 2, 7}, {{"n", "42", 500, 1}, {"s", "xy", {}, 100}}, 8));
}

TEST_CASE(MeetsExpectations) {
  const Buffer live = MakeRecord({1, 2, 1, {}}, {{"a", "1", {}, 1}});
  const Buffer over = MakeRecord({1, 2, 1, 98}, {{"a", "1", {}, 1}});
  const auto expect = [](Expectation expectation, std::uint64_t revision = 0) {
    return At(100).AddWrite({.expectation = expectation, .revision = revision}).Add("a", 1).bytes();
  };
  struct Row {
    const Buffer* existing;
    Buffer request;
    Status status;
    std::uint64_t limit;
    std::uint64_t actual;
  };
  const Row rows[] = {
      {&live, expect(Expectation::kAny), Status::kApplied, 0, 0},
      {&live, expect(Expectation::kAbsent), Status::kConflict, 0, 7},
      {&live, expect(Expectation::kRevision, 7), Status::kApplied, 0, 0},
      {&live, expect(Expectation::kRevision, 6), Status::kConflict, 6, 7},
      {&over, expect(Expectation::kAny), Status::kApplied, 0, 0},
      {&over, expect(Expectation::kAbsent), Status::kApplied, 0, 0},
      {&over, expect(Expectation::kRevision, 7), Status::kApplied, 0, 0},
      {&over, expect(Expectation::kRevision, 6), Status::kConflict, 6, 0},
      {nullptr, expect(Expectation::kAny), Status::kApplied, 0, 0},
      {nullptr, expect(Expectation::kAbsent), Status::kApplied, 0, 0},
      {nullptr, expect(Expectation::kRevision, 7), Status::kConflict, 7, 0},
  };
  for (const Row& row : rows) {
    const Applied applied =
        Apply(row.existing != nullptr ? std::optional<Bytes>(*row.existing) : std::nullopt, row.request);
    CHECK(applied.status() == row.status);
    CHECK(applied.refusal.limit == row.limit && applied.refusal.actual == row.actual);
    if (row.status != Status::kApplied) continue;
    const bool kept = row.existing == &live;
    CHECK(applied.record == MakeRecord({kept ? 1 : 100, 100, kept ? 2U : 1U, {}},
                                       {{"a", kept ? "2" : "1", {}, kept ? 1 : 100}}, 8));
    CHECK(applied.answer[16] == (kept ? 1 : 0));
  }
}

TEST_CASE(StartsAgainWhereExpired) {
  const Buffer existing =
      MakeRecord({1, 2, 1, {}}, {{"bytes", "old", 100, 5}, {"n", "41", 100, 1}, {"z", {}, 100}});
  CHECK(Apply(existing, At(99).Write().Add("n", 1).bytes()).record ==
        MakeRecord({1, 99, 2, {}}, {{"bytes", "old", 100, 5}, {"n", "42", 100, 1}, {"z", {}, 100}}, 8));
  CHECK(Apply(existing, At(100).Write().Add("n", 1).bytes()).record ==
        MakeRecord({1, 100, 2, {}}, {{"bytes", "old", 100, 5}, {"n", "1", {}, 100}, {"z", {}, 100}}, 8));
  CHECK(Apply(existing, At(100).Write().Expire("bytes", 300).bytes()).record ==
        MakeRecord({1, 100, 2, {}}, {{"bytes", {}, 300}, {"n", "41", 100, 1}, {"z", {}, 100}}, 8));
  CHECK(Apply(existing, At(100).Write().Deprecate("n", 1, 1, 100).Set("z", "v").bytes()).record ==
        MakeRecord({1, 100, 2, {}}, {{"bytes", "old", 100, 5}, {"z", "v", {}, 100}}, 8));
}

TEST_CASE(KeepsDeadlinesAndClocks) {
  const Buffer existing = MakeRecord({1, 2, 1, {}}, {{"a", "x", 500, 3}, {"b", {}, 500}});
  CHECK(Apply(existing, At(100).Write().Set("a", "7").Set("b", "y").bytes()).record ==
        MakeRecord({1, 100, 2, {}}, {{"a", "7", 500, 3}, {"b", "y", 500, 100}}, 8));
  CHECK(
      Apply(existing, At(100).Write().Expire("a", 900, true).Expire("c", 900, true).Expire("b", 800).bytes())
          .record == MakeRecord({1, 100, 2, {}}, {{"a", "x", 500, 3}, {"b", {}, 800}, {"c", {}, 900}}, 8));
  // A deadline of now hides at once; what comes after starts anew.
  CHECK(Apply(existing, At(100).Write().Expire("a", 100).Set("a", "z").bytes()).record ==
        MakeRecord({1, 100, 2, {}}, {{"a", "z", {}, 100}, {"b", {}, 500}}, 8));
  // The clock is left out exactly where it equals `created`.
  CHECK(Apply(existing, At(100).Write().Remove("b").Deprecate("a", 1, 1, 1).bytes()).record ==
        MakeRecord({1, 100, 2, {}}, {{"a", "x", 500, 3}}, 8));
}

TEST_CASE(AddsWhatLooksLikeANumber) {
  struct Row {
    std::string_view stored;
    std::int64_t delta;
    std::string_view result;
  };
  const Row rows[] = {{"12x", 1, "13"},   {"1.9", 1, "2"},  {"abc", 5, "5"},
                      {" \t-3", 1, "-2"}, {"007", 0, "7"},  {"9223372036854775808", 1, "1"},
                      {"", 0, "0"},       {"-5", -5, "-10"}};
  for (const Row& row : rows) {
    const Buffer existing = MakeRecord({1, 2, 1, {}}, {{"n", row.stored, {}, 1}});
    CHECK(Apply(existing, At(5).Write().Add("n", row.delta).bytes()).record ==
          MakeRecord({1, 5, 2, {}}, {{"n", row.result, {}, 1}}, 8));
  }
}

TEST_CASE(RefusesOverflow) {
  const Buffer most = MakeRecord({1, 2, 1, {}}, {{"n", "9223372036854775807", {}, 1}});
  const Applied over = Apply(most, At(5).Write().Set("a", "x").Add("n", 1).Set("b", "x").bytes());
  CHECK(over.status() == Status::kOverflow && over.refusal.mutation == 1 && over.record.empty());
  CHECK(over.answer == FromHex("1c000000 03 00 0000 01000000 0000000000000000 0000000000000000"));
  CHECK(Apply(most, At(5).Write().Add("n", 0).bytes()).status() == Status::kApplied);
  CHECK(Apply({}, At(5).Write().Subtract("n", kMin).bytes()).status() == Status::kOverflow);
  CHECK(Apply({}, At(5).Write().Add("n", kMin).bytes()).status() == Status::kApplied);
  CHECK(Apply({}, At(5).Write().Subtract("n", kMax).Subtract("n", 1).bytes()).status() == Status::kApplied);
  CHECK(Apply({}, At(5).Write().Subtract("n", kMax).Subtract("n", 2).bytes()).status() == Status::kOverflow);
}

TEST_CASE(HoldsSumsAtTheBoundsWhereThatIsAskedFor) {
  const auto sum = [](const BatchBuilder& batch) { return Apply({}, batch.bytes()).record; };
  const auto is = [](std::string_view value) { return MakeRecord({5, 5, 1, {}}, {{"n", value, {}, 5}}, 8); };
  constexpr std::string_view kMost = "9223372036854775807";
  constexpr std::string_view kLeast = "-9223372036854775808";
  CHECK(sum(At(5).Write().Add("n", kMax, true).Add("n", 1, true)) == is(kMost));
  CHECK(sum(At(5).Write().Add("n", kMin, true).Add("n", kMin, true)) == is(kLeast));
  CHECK(sum(At(5).Write().Subtract("n", kMin, true)) == is(kMost));
  CHECK(sum(At(5).Write().Add("n", kMin, true).Subtract("n", kMax, true)) == is(kLeast));
  CHECK(Apply({}, At(5).Write().Add("n", kMax, true).Add("n", 1).bytes()).status() == Status::kOverflow);
}

TEST_CASE(DecaysOnTheVariablesOwnClock) {
  const Buffer existing = MakeRecord({1000, 1000, 1, {}}, {{"n", "10", {}, 1000}});
  const auto after = [&existing](std::int64_t amount, std::int64_t period, std::int64_t at,
                                 std::string_view value, std::int64_t clock) {
    CHECK(Apply(existing, At(2000).Write().Deprecate("n", amount, period, at).bytes()).record ==
          MakeRecord({1000, 2000, 2, {}}, {{"n", value, {}, clock}}, 8));
  };
  after(3, 100, 1099, "10", 1000);
  after(3, 100, 1100, "7", 1100);
  after(3, 100, 1299, "4", 1200);
  after(3, 100, 1400, "0", 1400);
  after(kMax, 1, kMax, "0", kMax);
  after(1, kMax, kMax, "10", 1000);
  after(3, 100, 900, "10", 1000);
  after(3, 100, kMin, "10", 1000);
  const Buffer negative = MakeRecord({1, 1, 1, {}}, {{"n", "-4", {}, 1}});
  CHECK(Apply(negative, At(9).Write().Deprecate("n", 1, 2, 6).bytes()).record ==
        MakeRecord({1, 9, 2, {}}, {{"n", "-4", {}, 5}}, 8));
  const Buffer text = MakeRecord({1, 1, 1, {}}, {{"n", "5 apples", {}, 1}});
  CHECK(Apply(text, At(9).Write().Deprecate("n", 1, 2, 6).bytes()).record ==
        MakeRecord({1, 9, 2, {}}, {{"n", "3", {}, 5}}, 8));
  const Buffer oldest = MakeRecord({kMin, 1, 1, {}}, {{"n", "9223372036854775807", {}, kMin}});
  CHECK(Apply(oldest, At(9).Write().Deprecate("n", 1, 2, kMax).bytes()).record ==
        MakeRecord({kMin, 9, 2, {}}, {{"n", "0", {}, kMax - 1}}, 8));
}

TEST_CASE(CountsVariables) {
  const Buffer existing = MakeRecord({1, 1, 1, {}}, {{"a", "1", 10, 1}, {"b", "1", {}, 1}, {"c", {}, 10}});
  // Room for one more.
  CHECK(Apply(existing, At(5, 4).Write().Add("d", 1).bytes()).status() == Status::kApplied);
  // None, and nothing is expired yet.
  const Applied full = Apply(existing, At(5, 3).Write().Add("a", 1).Add("d", 1).bytes());
  CHECK(full.status() == Status::kTooManyVariables && full.refusal.mutation == 1);
  CHECK(full.refusal.limit == 3 && full.refusal.actual == 4);
  // What is expired makes room, all of it.
  CHECK(Apply(existing, At(10, 3).Write().Add("d", 1).bytes()).record ==
        MakeRecord({1, 10, 2, {}}, {{"b", "1", {}, 1}, {"d", "1", {}, 10}}, 8));
  // Taking the place of one's expired self adds none, so the others stay.
  CHECK(Apply(existing, At(10, 3).Write().Add("a", 1).bytes()).record ==
        MakeRecord({1, 10, 2, {}}, {{"a", "1", {}, 10}, {"b", "1", {}, 1}, {"c", {}, 10}}, 8));
  // What the batch itself expired makes room too, also for what was expired in the record and comes again.
  CHECK(
      Apply(existing, At(10, 3).Write().Expire("b", 10).Add("d", 1).Add("e", 1).Add("a", 1).bytes()).record ==
      MakeRecord({1, 10, 2, {}}, {{"a", "1", {}, 10}, {"d", "1", {}, 10}, {"e", "1", {}, 10}}, 8));
  const Applied again = Apply(existing, At(10, 2).Write().Add("d", 1).Add("a", 1).bytes());
  CHECK(again.status() == Status::kTooManyVariables && again.refusal.mutation == 1);
  CHECK(Apply({}, At(10, 0).Write().Remove("a").bytes()).status() == Status::kApplied);
  CHECK(Apply({}, At(10, 0).Write().Set("a", "").bytes()).status() == Status::kTooManyVariables);
  // The mutation that needs the room is not among what makes it, even where it ends expired itself.
  CHECK(Apply(existing, At(10, 3).Write().Expire("d", 10).bytes()).record ==
        MakeRecord({1, 10, 2, {}}, {{"b", "1", {}, 1}, {"d", {}, 10}}, 8));
  // A removal makes room within the batch.
  CHECK(Apply(existing, At(5, 3).Write().Remove("b").Add("d", 1).bytes()).status() == Status::kApplied);
}

TEST_CASE(BoundsTheSize) {
  const std::string ten(10, 'v');
  CHECK(Apply({}, At(5, 9, 11).Write().Set("a", ten).bytes()).status() == Status::kApplied);
  const Applied over = Apply({}, At(5, 9, 10).Write().Set("a", ten).bytes());
  CHECK(over.status() == Status::kRecordTooLarge && over.refusal.mutation == kNoMutation);
  CHECK(over.refusal.limit == 10 && over.refusal.actual == 11 && over.record.empty());
  // An integer counts as its decimal.
  CHECK(Apply({}, At(5, 9, 21).Write().Add("a", kMin).bytes()).status() == Status::kApplied);
  CHECK(Apply({}, At(5, 9, 20).Write().Add("a", kMin).bytes()).refusal.actual == 21);
  // What is expired goes first.
  const Buffer existing = MakeRecord({1, 1, 1, {}}, {{"a", ten, 5, 1}, {"b", ten, {}, 1}});
  CHECK(Apply(existing, At(5, 9, 30).Write().Set("c", "x").bytes()).record ==
        MakeRecord({1, 5, 2, {}}, {{"a", ten, 5, 1}, {"b", ten, {}, 1}, {"c", "x", {}, 5}}, 8));
  CHECK(Apply(existing, At(5, 9, 20).Write().Set("c", "x").bytes()).record ==
        MakeRecord({1, 5, 2, {}}, {{"b", ten, {}, 1}, {"c", "x", {}, 5}}, 8));
  // Over a limit that was lowered later, a record may shrink or stay, not grow.
  CHECK(Apply(existing, At(4, 9, 5).Write().Set("b", "short").bytes()).status() == Status::kApplied);
  CHECK(Apply(existing, At(4, 9, 5).Write().Expire("b", 900).bytes()).status() == Status::kApplied);
  CHECK(Apply(existing, At(4, 9, 5).Write().Set("b", ten + "v").bytes()).refusal.actual == 23);
  CHECK(Apply(existing, At(4, 9, 0).Write().RemoveRecord().bytes()).status() == Status::kApplied);
}

TEST_CASE(RemovesRecords) {
  const Buffer existing = MakeRecord({1, 1, 9, 1000}, {{"a", "1", {}, 1}, {"m", "1", {}, 1}});
  const Applied removed = Apply(existing, At(5).Write().Add("a", 1).RemoveRecord().bytes());
  CHECK(removed.status() == Status::kApplied && removed.record.empty());
  CHECK(removed.answer == FromHex("18000000 00 00 0100 0000000000000000 01 00 0100 0000 00 00"));
  // What follows begins a new record, with the write's timeout and nothing of the old one.
  CHECK(Apply(existing, At(5).AddWrite({.timeout = 40}).Set("m", "x").RemoveRecord().Add("b", 1).bytes())
            .record == MakeRecord({5, 5, 1, 40}, {{"b", "1", {}, 5}}, 8));
  CHECK(Apply(existing, At(5).Write().RemoveRecord().Timeout(3).bytes()).record ==
        MakeRecord({5, 5, 1, 3}, {}, 8));
  CHECK(Apply(existing, At(5).Write().RemoveRecord().Remove("a").bytes()).record ==
        MakeRecord({5, 5, 1, {}}, {}, 8));
  CHECK(Apply(existing, At(5).Write().RemoveRecord().RemoveRecord().bytes()).record.empty());
  CHECK(Apply(existing, At(5).Write().RemoveRecord().Add("a", 1).RemoveRecord().bytes()).record.empty());
  CHECK(Apply({}, At(5).Write().RemoveRecord().bytes()).answer[16] == 0);
  // The stored variables no longer count, neither by number nor by size.
  CHECK(Apply(existing, At(5, 1).Write().RemoveRecord().Add("b", 1).bytes()).status() == Status::kApplied);
}

TEST_CASE(MovesTheFactsForward) {
  const Buffer existing = MakeRecord({50, 60, kMaxUpdateCount - 1, 100}, {});
  const Applied once = Apply(existing, At(55).Write().bytes());
  CHECK(once.record == MakeRecord({50, 60, kMaxUpdateCount, 100}, {}, 8));
  CHECK(Apply(once.record, At(70).Write().Timeout(0).bytes(), 9).record ==
        MakeRecord({50, 70, kMaxUpdateCount, {}}, {}, 9));
  const Applied last = Apply(existing, At(55).Write().bytes(), kMaxRevision);
  CHECK(last.status() == Status::kApplied);
  const Applied none = Apply(existing, At(55).Write().bytes(), kMaxRevision + 1);
  CHECK(none.status() == Status::kRevisionsUsedUp && none.refusal.limit == kMaxRevision &&
        none.record.empty());
  CHECK(Apply(existing, At(55).Write().RemoveRecord().bytes(), kMaxRevision + 1).status() ==
        Status::kApplied);
}

TEST_CASE(ReportsCorruptRecords) {
  Buffer corrupt = MakeRecord({1, 1, 1, {}}, {{"a", "abcdef", {}, 1}, {"b", "123456789a", {}, 1}});
  corrupt[corrupt.size() - 5] = '0';
  const Buffer add = At(5).Write().Add("a", 1).bytes();
  CHECK(Apply(corrupt, add).corruption() == Corruption::kChecksum);
  Reseal(corrupt);
  CHECK(Apply(corrupt, add).status() == Status::kCorruptRecord);
  CHECK(Apply(corrupt, add).corruption() == Corruption::kInteger);
  CHECK(Apply(Bytes(), add).corruption() == Corruption::kTooShort);
  for (const RecordName& other :
       {RecordName{2, kName.application_id, kName.key}, RecordName{1, ToBytes("shoq"), kName.key},
        RecordName{1, kName.application_id, ToBytes("203.0.113.8")},
        RecordName{1, ToBytes("shop2"), ToBytes("03.0.113.9")}}) {
    CHECK(Apply(MakeRecord({1, 1, 1, {}}, {}, 7, other), add).corruption() == Corruption::kOtherName);
  }
  // Removed unseen: it counts as absent but existed.
  const Applied removed = Apply(corrupt, At(5).Write().RemoveRecord().Expire("b", 9).bytes());
  CHECK(removed.record == MakeRecord({5, 5, 1, {}}, {{"b", {}, 9}}, 8));
  CHECK(removed.answer[16] == 1);
  CHECK(Apply(corrupt, At(5).Write().Add("a", 1).RemoveRecord().bytes()).status() == Status::kCorruptRecord);
  CHECK(
      Apply(corrupt, At(5).AddWrite({.expectation = Expectation::kAbsent}).RemoveRecord().bytes()).status() ==
      Status::kCorruptRecord);
}

TEST_CASE(PutsVariablesWhereTheyBelong) {
  const Buffer existing =
      MakeRecord({1, 1, 1, {}}, {{"b", "1", {}, 1}, {"d", "x", 5, 2}, {"f", "3", {}, 1}, {"h", {}, 5}});
  CHECK(
      Apply(existing, At(3).Write().Set("i", "i").Set("a", "a").Set("e", "e").Remove("f").Add("b", 1).bytes())
          .record == MakeRecord({1, 3, 2, {}},
                                {{"a", "a", {}, 3},
                                 {"b", "2", {}, 1},
                                 {"d", "x", 5, 2},
                                 {"e", "e", {}, 3},
                                 {"h", {}, 5},
                                 {"i", "i", {}, 3}},
                                8));
  CHECK(Apply(existing, At(3).Write().Remove("b").Remove("d").Remove("f").Remove("h").bytes()).record ==
        MakeRecord({1, 3, 2, {}}, {}, 8));
  CHECK(Apply(existing, At(3).Write().bytes()).record ==
        MakeRecord({1, 3, 2, {}}, {{"b", "1", {}, 1}, {"d", "x", 5, 2}, {"f", "3", {}, 1}, {"h", {}, 5}}, 8));
}

TEST_CASE(TakesManyMutationsInAnyOrder) {
  BatchBuilder batch = At(3, 65'535, 1 << 24);
  batch.Write();
  for (std::uint32_t i = 0; i < 65'535; ++i)
    batch.Add("n" + std::to_string(i * 7919 % 65'535), 1);
  const Applied applied = Apply({}, batch.bytes());
  CHECK(applied.status() == Status::kApplied);
  wafstate::RecordView view;
  CHECK(view.Open(applied.record) == Corruption::kNone);
  CHECK(view.variable_count() == 65'535);
}

}  // namespace

TEST_MAIN("apply")
