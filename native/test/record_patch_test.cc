// Commits in place against the Applier that they stand in for: the same bytes, the same answer.

#include "core/record_patch.h"

#include <array>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "core/apply.h"
#include "core/record_deadlines.h"
#include "test/check.h"
#include "test/request_builder.h"

namespace {

using namespace wafstate;
using namespace wafstate::test;

constexpr std::uint64_t kRevision = 1000;

struct Outcome {
  Status status = Status::kApplied;
  Buffer record;
  Buffer answer;
};

Outcome ByApplier(std::optional<Bytes> existing, const Request& request, std::uint64_t revision) {
  Outcome outcome;
  Applier applier(Seal::kNone);
  ReplyWriter reply(outcome.answer);
  reply.BeginAnswer();
  outcome.status =
      applier.Apply(existing, request, request.writes()[0], revision, outcome.record, reply).status;
  reply.FinishAnswer();
  return outcome;
}

// Empty where it is not to be done in place.
std::optional<Outcome> InPlace(const Buffer& existing, const Request& request, std::uint64_t revision) {
  Outcome outcome{.status = Status::kApplied, .record = existing, .answer = {}};
  RecordPatch patch;
  if (!patch.Plan(outcome.record, request, request.writes()[0])) {
    CHECK(outcome.record == existing);
    return std::nullopt;
  }
  ReplyWriter reply(outcome.answer);
  reply.BeginAnswer();
  patch.Publish(revision, request.now(), reply);
  reply.FinishAnswer();
  const RecordDeadlines before = DeadlinesOf(existing);
  const RecordDeadlines after = DeadlinesOf(outcome.record);
  CHECK(patch.moves_deadlines() ||
        (before.next == after.next && before.end == after.end && before.longest == after.longest));
  return outcome;
}

Request Parsed(RequestBuilder& builder) {
  Request request;
  CHECK(request.Parse(builder.bytes()));
  return request;
}

Buffer Made(RequestBuilder& builder) {
  return ByApplier(std::nullopt, Parsed(builder), 1).record;
}

TEST_CASE(IsWhatTheApplierDoes) {
  std::mt19937_64 random(20'240);
  const auto below = [&random](std::uint64_t bound) { return random() % bound; };
  const std::array<std::string, 4> names = {"a", "ab", "counter", "z"};
  std::size_t in_place = 0;
  std::size_t in_turn = 0;
  for (int history = 0; history < 3000; ++history) {
    Buffer record;
    std::int64_t now = 1000;
    for (std::uint64_t step = 1; step < 12; ++step) {
      now += static_cast<std::int64_t>(below(30)) - 2;
      RequestBuilder builder(now, below(20) == 0 ? 60 : 1 << 21);
      const bool expects = below(4) == 0 && step > 1;
      builder.Write("203.0.113.9", expects ? Expectation::kRevision : Expectation::kAny,
                    expects ? kRevision + step - 1 : 0, below(6) == 0 ? 40 : 0);
      for (std::uint64_t count = 1 + below(5); count > 0; --count) {
        const std::string& name = names[below(names.size())];
        const auto kind = below(step < 3 ? 6 : 40);
        if (kind == 0) {
          builder.Remove(name);
        } else if (kind == 1) {
          builder.Set(name, ToBytes(below(2) == 0 ? "text" : "9223372036854775806"));
        } else if (kind % 3 == 0) {
          builder.Expire(name, now + static_cast<std::int64_t>(below(60)) - 5, below(2) == 0);
        } else {
          builder.Add(name, static_cast<std::int64_t>(below(9)) - 4);
        }
      }
      const Request request = Parsed(builder);
      const std::optional<Bytes> existing = record.empty() ? std::nullopt : std::optional<Bytes>(record);
      const Outcome expected = ByApplier(existing, request, kRevision + step);
      if (existing) {
        if (const std::optional<Outcome> patched = InPlace(record, request, kRevision + step)) {
          CHECK(expected.status == Status::kApplied);
          CHECK(patched->record == expected.record);
          CHECK(patched->answer == expected.answer);
          ++in_place;
        } else {
          ++in_turn;
        }
      }
      if (expected.status == Status::kApplied) record = expected.record;
    }
  }
  CHECK(in_place > 3000);
  CHECK(in_turn > 3000);
}

TEST_CASE(CountsInPlace) {
  RequestBuilder first(100);
  first.Write("k").Add("n", 1).Expire("n", 500, true);
  const Buffer record = Made(first);
  RequestBuilder again(200);
  again.Write("k").Add("n", 1).Expire("n", 600, true);
  CHECK(InPlace(record, Parsed(again), 2).has_value());
  RequestBuilder moved(200);
  moved.Write("k").Add("n", 1).Expire("n", 600);
  CHECK(InPlace(record, Parsed(moved), 2).has_value());
}

TEST_CASE(LeavesToTheApplierWhatMayBeRefusedOrMoveBytes) {
  RequestBuilder first(100);
  first.Write("k", Expectation::kAny, 0, 1000)
      .Add("n", std::numeric_limits<std::int64_t>::max())
      .Add("m", 1)
      .Set("text", ToBytes("x"))
      .Expire("m", 500);
  const Buffer record = Made(first);
  const auto refuses = [&record](RequestBuilder builder) { return !InPlace(record, Parsed(builder), 2); };
  const auto write = [](std::int64_t now) { return RequestBuilder(now).Write("k"); };
  CHECK(refuses(write(200).Add("n", 1)));       // overflow
  CHECK(refuses(write(200).Add("new", 1)));     // another variable
  CHECK(refuses(write(200).Add("text", 1)));    // another kind of value
  CHECK(refuses(write(500).Add("m", 1)));       // expired
  CHECK(refuses(write(1100).Add("n", -1)));     // the record is timed out
  CHECK(refuses(write(200).Expire("n", 900)));  // a deadline where there is none
  CHECK(refuses(write(200).Expire("m", 200)));  // ends at once
  CHECK(refuses(write(200).Set("m", ToBytes("2"))));
  CHECK(refuses(write(200)));  // no mutation
  CHECK(refuses(RequestBuilder(200).Write("k", Expectation::kAbsent).Add("m", 1)));
  CHECK(refuses(RequestBuilder(200).Write("k", Expectation::kRevision, 9).Add("m", 1)));
  CHECK(refuses(RequestBuilder(200, 100).Write("k").Add("m", 1)));  // near the limit of a record
  CHECK(!refuses(write(200).Add("m", 1)));
}

}  // namespace

TEST_MAIN("record_patch_test")
