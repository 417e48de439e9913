// Batches: their grammar, and their execution against a store.

#include <map>
#include <string>

#include "core/batch_executor.h"
#include "core/revision.h"
#include "test/bytes_in_text.h"
#include "test/check.h"
#include "test/record_builder.h"

namespace {

using wafstate::BatchExecutor;
using wafstate::BatchReader;
using wafstate::Buffer;
using wafstate::Bytes;
using wafstate::Change;
using wafstate::Expectation;
using wafstate::kRefusalBytes;
using wafstate::Load;
using wafstate::Operation;
using wafstate::RecordSource;
using wafstate::Request;
using wafstate::Status;
using wafstate::Store;
using wafstate::test::BatchBuilder;
using wafstate::test::FromHex;
using wafstate::test::MakeRecord;
using wafstate::test::ToText;

// What every write has in common, so that a store of the tests reads as one.
constexpr std::string_view kPrefix = "\x01\x04shop";

class MapSource final : public RecordSource {
 public:
  std::map<std::string, Buffer> records;
  std::string unreadable;
  std::uint64_t revision = 100;
  int reads = 0;

  ReadResult Read(Bytes key) override {
    ++reads;
    const std::string name = ToText(key).substr(kPrefix.size());
    if (name == unreadable) return {.record = {}, .failure = {.status = Status::kEngineError, .actual = 5}};
    const auto found = records.find(name);
    if (found == records.end()) return {};
    return {.record = Bytes(found->second)};
  }

  std::uint64_t TakeRevision() override { return ++revision; }

  void Store(const BatchExecutor& executor) {
    for (const Change& change : executor.changes()) {
      const std::string name = ToText(change.key).substr(kPrefix.size());
      if (change.record) {
        records[name] = Buffer(change.record->begin(), change.record->end());
      } else {
        records.erase(name);
      }
    }
  }

  // The value of "n", or "none".
  [[nodiscard]] std::string ValueOf(const std::string& name) const {
    const auto found = records.find(name);
    if (found == records.end()) return "none";
    wafstate::RecordView view;
    if (view.Open(found->second) != wafstate::Corruption::kNone) return "corrupt";
    wafstate::VariableCursor cursor = view.variables();
    for (wafstate::Variable variable; cursor.Next(variable);) {
      if (ToText(variable.name) == "n") return std::to_string(variable.integer);
    }
    return "no n";
  }
};

std::vector<Status> Statuses(Bytes reply) {
  std::vector<Status> statuses;
  while (reply.size() >= 8) {
    statuses.push_back(static_cast<Status>(reply[4]));
    const std::size_t size = Load<std::uint32_t>(reply.data());
    if (size < 8 || size > reply.size()) break;
    reply = reply.subspan(size);
  }
  CHECK(reply.empty());
  return statuses;
}

std::string Keys(const BatchExecutor& executor) {
  std::string keys;
  for (const Change& change : executor.changes()) {
    keys += (change.record ? "+" : "-") + ToText(change.key).substr(kPrefix.size()) + " ";
  }
  return keys;
}

bool Parses(const Buffer& bytes) {
  return Request().Parse(bytes);
}

TEST_CASE(ReadsARequest) {
  const Buffer bytes = FromHex(
      "5d000000 00002000 0010 0100 6400000000000000"
      "01 02 0300 02 01 0200 0700000000000000 3200000000000000 'ab' 'key'"
      "01 00 0200 'xy' 05000000 'value'"
      "06 00 0100 'n' 0100000000000000 0200000000000000 0300000000000000");
  Request request;
  CHECK(request.Parse(bytes));
  CHECK(request.now() == 100 && request.record_bytes_limit() == 0x200000 &&
        request.variables_limit() == 4096);
  CHECK(request.writes().size() == 1);
  const wafstate::Write& write = request.writes()[0];
  CHECK(write.name.space == 1 && ToText(write.name.application_id) == "ab" &&
        ToText(write.name.key) == "key");
  CHECK(write.expectation == Expectation::kRevision && write.expected_revision == 7 && write.timeout == 50);
  const auto mutations = request.mutations(write);
  CHECK(mutations.size() == 2);
  CHECK(mutations[0].operation == Operation::kSet && ToText(mutations[0].name) == "xy");
  CHECK(ToText(mutations[0].value) == "value");
  CHECK(mutations[1].operation == Operation::kDeprecate && mutations[1].operand == 1);
  CHECK(mutations[1].period == 2 && mutations[1].at == 3);
}

TEST_CASE(RefusesEveryBreachOfTheGrammar) {
  using WriteSpec = BatchBuilder::WriteSpec;
  const auto one = [](const WriteSpec& spec) { return BatchBuilder().Begin(5).AddWrite(spec).bytes(); };
  const auto at = [] { return BatchBuilder().Begin(5).Write(); };
  const auto with = [](Buffer bytes, std::size_t offset, std::uint8_t value) {
    bytes[offset] = value;
    return bytes;
  };
  const std::string long_key(1025, 'k');
  const wafstate::RecordName base = wafstate::test::kName;
  CHECK(Parses(at().bytes()));
  CHECK(!Parses({}));
  CHECK(!Parses(BatchBuilder().Begin(5).bytes()));
  for (const std::uint8_t space : FromHex("00 06 0f"))
    CHECK(!Parses(one({.name = {space, base.application_id, base.key}})));
  CHECK(Parses(one({.name = {16, {}, base.key}})));
  CHECK(!Parses(one({.name = {1, {}, {}}})));
  CHECK(!Parses(one({.name = {1, {}, wafstate::ToBytes(long_key)}})));
  CHECK(Parses(one({.name = {1, {}, wafstate::ToBytes(long_key).first(1024)}})));
  CHECK(!Parses(one({.expectation = static_cast<Expectation>(3)})));
  CHECK(!Parses(one({.expectation = Expectation::kAny, .revision = 1})));
  CHECK(!Parses(one({.expectation = Expectation::kAbsent, .revision = 1})));
  CHECK(!Parses(one({.expectation = Expectation::kRevision, .revision = 0})));
  CHECK(Parses(one({.expectation = Expectation::kRevision, .revision = wafstate::kMaxRevision})));
  CHECK(!Parses(one({.expectation = Expectation::kRevision, .revision = wafstate::kMaxRevision + 1})));
  CHECK(!Parses(one({.timeout = 0})));
  CHECK(!Parses(one({.timeout = -1})));
  CHECK(Parses(one({.timeout = 1})));
  CHECK(!Parses(with(one({.timeout = 1}), 25, 0)));
  CHECK(!Parses(with(one({.timeout = 1}), 25, 3)));

  const std::size_t first = at().bytes().size();
  const Buffer add = at().Add("n", 1).bytes();
  for (const std::uint8_t operation : FromHex("00 09 ff"))
    CHECK(!Parses(with(add, first, operation)));
  CHECK(Parses(with(add, first + 1, 1)));
  CHECK(!Parses(with(add, first + 1, 2)));
  CHECK(!Parses(with(at().Remove("n").bytes(), first + 1, 1)));
  CHECK(!Parses(with(add, first + 4, 'N')));
  CHECK(!Parses(at().Add("", 1).bytes()));
  CHECK(Parses(at().Expire("n", 1, true).bytes()));
  CHECK(!Parses(with(at().Expire("n", 1, true).bytes(), first + 1, 2)));
  CHECK(!Parses(at().Deprecate("n", 0, 1, 1).bytes()));
  CHECK(!Parses(at().Deprecate("n", 1, 0, 1).bytes()));
  CHECK(!Parses(at().Deprecate("n", -1, 1, 1).bytes()));
  CHECK(!Parses(at().Timeout(-1).bytes()));
  CHECK(Parses(at().Timeout(0).bytes()));
  // A name where none belongs.
  CHECK(!Parses(with(at().Remove("n").bytes(), first, static_cast<std::uint8_t>(Operation::kRemoveRecord))));
  const Buffer set = at().Set("n", "value").bytes();
  CHECK(Parses(set));
  CHECK(!Parses(with(set, first + 5, 4)));
  CHECK(!Parses(with(set, first + 5, 6)));
  CHECK(!Parses(with(set, first + 8, 255)));

  // Neither shorter nor longer, whatever the size field says.
  for (std::size_t size = 0; size < set.size(); ++size) {
    Buffer cut(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK(!Parses(cut));
    if (size < 4) continue;
    Store(cut.data(), static_cast<std::uint32_t>(size));
    CHECK(!Parses(cut));
  }
  Buffer longer = set;
  longer.push_back(0);
  CHECK(!Parses(longer));
  Store(longer.data(), static_cast<std::uint32_t>(longer.size()));
  CHECK(!Parses(longer));
}

TEST_CASE(CutsABatch) {
  const auto sizes = [](const Buffer& batch) {
    std::vector<std::size_t> found;
    BatchReader reader(batch);
    for (Bytes request; reader.Next(request);)
      found.push_back(request.size());
    return found;
  };
  Buffer two(48);
  Store(two.data(), std::uint32_t{20});
  Store(two.data() + 20, std::uint32_t{28});
  CHECK((sizes(two) == std::vector<std::size_t>{20, 28}));
  CHECK(sizes({}).empty());
  Store(two.data() + 20, std::uint32_t{29});
  CHECK((sizes(two) == std::vector<std::size_t>{20, 28}));
  Store(two.data(), std::uint32_t{19});
  CHECK((sizes(two) == std::vector<std::size_t>{48}));
  CHECK((sizes(Buffer(3)) == std::vector<std::size_t>{3}));
}

TEST_CASE(ExecutesRequestsInOrder) {
  MapSource source;
  source.records["b"] = MakeRecord({1, 1, 1, {}}, {{"n", "10", {}, 1}}, 7,
                                   {1, wafstate::ToBytes("shop"), wafstate::ToBytes("b")});
  BatchBuilder batch;
  batch.Begin(5).WriteTo("c").Add("n", 1);
  batch.Begin(5).WriteTo("b").Add("n", 1);
  batch.Begin(5).WriteTo("c").Add("n", 1);
  batch.Begin(5).WriteTo("a").RemoveRecord();
  batch.Begin(5).WriteTo("b").RemoveRecord();
  batch.Begin(5).WriteTo("d").Add("n", 1);
  batch.Begin(5).WriteTo("d").RemoveRecord();
  BatchExecutor executor;
  executor.Begin(batch.bytes());
  CHECK(executor.request_count() == 7 && executor.key_count() == 4);
  CHECK(ToText(executor.key(0)) == std::string(kPrefix) + "a" &&
        ToText(executor.key(3)) == std::string(kPrefix) + "d");
  executor.Execute(source);
  CHECK(source.reads == 4);
  CHECK(Statuses(executor.reply()) == std::vector<Status>(7, Status::kApplied));
  CHECK(Keys(executor) == "-b +c ");
  CHECK(executor.growth(0) > 0 && executor.growth(4) < 0);
  CHECK(executor.growth(5) == -executor.growth(6));
  source.Store(executor);
  CHECK(source.ValueOf("c") == "2" && source.ValueOf("b") == "none");
}

TEST_CASE(FailsARequestWhole) {
  MapSource source;
  source.unreadable = "u";
  BatchBuilder batch;
  batch.Begin(5).WriteTo("a").Add("n", 1);
  // Fails at its third write, after two that applied.
  batch.Begin(5).WriteTo("a").Add("n", 10).WriteTo("b").Add("n", 10);
  batch.AddWrite({.name = {1, wafstate::ToBytes("shop"), wafstate::ToBytes("c")},
                  .expectation = Expectation::kRevision,
                  .revision = 3});
  batch.Begin(5).WriteTo("a").Add("n", 100).WriteTo("b").Add("n", 100);
  batch.Begin(5).WriteTo("b").Add("n", 1).WriteTo("u").Add("n", 1);
  // A record twice.
  batch.Begin(5).WriteTo("a").Add("n", 1000).WriteTo("d").Add("n", 1).WriteTo("a").Add("n", 1000);
  batch.Begin(5).WriteTo("b").Set("n", "x").Subtract("m", 1).Add("n", 1);
  BatchExecutor executor;
  executor.Begin(batch.bytes());
  executor.Execute(source);
  CHECK((Statuses(executor.reply()) == std::vector<Status>{Status::kApplied, Status::kConflict,
                                                           Status::kApplied, Status::kEngineError,
                                                           Status::kMalformed, Status::kApplied}));
  const Bytes conflict =
      executor.reply().subspan(Load<std::uint32_t>(executor.reply().data()), kRefusalBytes);
  const Buffer expected = FromHex("1c000000 01 00 0200 ffffffff 0300000000000000 0000000000000000");
  CHECK(wafstate::Equal(conflict, expected));
  CHECK(executor.applied(0) && !executor.applied(1));
  CHECK(executor.growth(1) == 0);
  CHECK(Keys(executor) == "+a +b ");
  source.Store(executor);
  CHECK(source.ValueOf("a") == "101" && source.ValueOf("b") == "1" && source.ValueOf("d") == "none");
}

TEST_CASE(IsolatesMalformedRequests) {
  MapSource source;
  BatchBuilder batch;
  batch.Begin(5).WriteTo("a").Add("n", 1);
  const std::size_t second = batch.bytes().size();
  batch.Begin(5).WriteTo("b").Add("n", 1);
  const std::size_t third = batch.bytes().size();
  batch.Begin(5).WriteTo("c").Add("n", 1);
  Buffer bytes = batch.bytes();
  bytes[second + 20] = 0;
  BatchExecutor executor;
  executor.Begin(bytes);
  executor.Execute(source);
  CHECK((Statuses(executor.reply()) ==
         std::vector<Status>{Status::kApplied, Status::kMalformed, Status::kApplied}));
  // An unsound size ends the batch: one answer for all that is left.
  Store(bytes.data() + second, static_cast<std::uint32_t>(bytes.size()));
  executor.Begin(bytes);
  executor.Execute(source);
  CHECK((Statuses(executor.reply()) == std::vector<Status>{Status::kApplied, Status::kMalformed}));
  CHECK(Keys(executor) == "+a ");
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    executor.Begin(Bytes(batch.bytes()).first(size));
    executor.Execute(source);
    const std::size_t whole = size >= bytes.size() ? 3U : size >= third ? 2U : size >= second ? 1U : 0U;
    CHECK(executor.changes().size() == whole);
  }
}

TEST_CASE(ExecutesAgainWithoutSome) {
  MapSource source;
  BatchBuilder batch;
  for (int i = 0; i < 4; ++i)
    batch.Begin(5).WriteTo("a").Add("n", 1);
  batch.Begin(5).WriteTo("b").Add("n", 1);
  BatchExecutor executor;
  executor.Begin(batch.bytes());
  executor.Execute(source);
  executor.Refuse(0, {.status = Status::kMapFull, .limit = 4096});
  executor.Refuse(4, {.status = Status::kNotExecuted});
  executor.Execute(source);
  CHECK(
      (Statuses(executor.reply()) == std::vector<Status>{Status::kMapFull, Status::kApplied, Status::kApplied,
                                                         Status::kApplied, Status::kNotExecuted}));
  CHECK(Keys(executor) == "+a ");
  source.Store(executor);
  CHECK(source.ValueOf("a") == "3" && source.ValueOf("b") == "none");

  executor.RefuseAll({.status = Status::kDiskFull, .actual = 28});
  CHECK(Statuses(executor.reply()) == std::vector<Status>(5, Status::kDiskFull));
  CHECK(executor.changes().empty() && !executor.applied(1));
  // The next batch knows nothing of it, also where it was never executed.
  executor.Begin(batch.bytes());
  executor.RefuseAll({.status = Status::kNotExecuted});
  CHECK(Statuses(executor.reply()) == std::vector<Status>(5, Status::kNotExecuted));
  executor.Begin(batch.bytes());
  executor.Execute(source);
  source.Store(executor);
  CHECK(source.ValueOf("a") == "7" && source.ValueOf("b") == "1");
  executor.Begin({});
  executor.Execute(source);
  CHECK(executor.reply().empty() && executor.changes().empty());
}

TEST_CASE(RevisionsGrow) {
  const std::uint64_t now = wafstate::NextRevision(0);
  CHECK(now > 1'600'000'000'000'000 && now < wafstate::kMaxRevision);
  CHECK(wafstate::NextRevision(now + 1'000'000'000'000) == now + 1'000'000'000'001);
  CHECK(wafstate::NextRevision(now) > now);
}

}  // namespace

TEST_MAIN("batch")
