// The shared table with one thread: what it stores, whom it evicts, and what it takes.

#include "core/shared_table.h"

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <string>

#include "test/check.h"
#include "test/request_builder.h"

namespace {

using namespace wafstate;
using namespace wafstate::test;

constexpr std::int64_t kNow = 1'700'000'000 * kSecond;
constexpr HashKey kHashKey{.first = 1, .second = 2};
constexpr std::uint64_t kMiB = 1 << 20;

// A table with one session, and what its last answer says.
class Subject {
 public:
  Subject(std::uint64_t max_bytes, std::uint64_t max_records, bool evicts = true)
      : table({.max_bytes = max_bytes, .max_records = max_records, .evicts = evicts}, kHashKey) {}

  Status Commit(RequestBuilder& request) {
    reply.clear();
    table.Commit(request.bytes(), session, reply);
    return static_cast<Status>(reply[4]);
  }
  Status Add(std::string_view key, std::int64_t now, std::int64_t deadline) {
    RequestBuilder request(now);
    request.Write(key).Add("n", 1).Expire("n", deadline, true);
    return Commit(request);
  }
  // Of the first write.
  [[nodiscard]] std::uint64_t revision() const { return wafstate::Load<std::uint64_t>(reply.data() + 8); }
  [[nodiscard]] bool Has(std::string_view key) {
    // A scan does not count as use, as a load does.
    TableScan scan{.prefix = KeyOf(key), .after = {}, .limit = 1, .now = 0, .hidden = true, .found = {}};
    (void)table.Scan(scan, SIZE_MAX);
    return !scan.found.empty() && scan.found.begin()->first == KeyOf(key);
  }
  [[nodiscard]] std::int64_t Value(std::string_view key, std::string_view name) {
    Buffer record;
    RecordView view;
    if (!table.Load(KeyOf(key), record) || view.Open(record) != Corruption::kNone) return -1;
    VariableCursor cursor = view.variables();
    for (Variable variable; cursor.Next(variable);) {
      if (Equal(variable.name, ToBytes(name))) return variable.integer;
    }
    return -1;
  }

  SharedTable table;
  TableSession session;
  Buffer reply;
};

TEST_CASE(KeepsWhatWasCommitted) {
  Subject subject(kMiB, 1000);
  CHECK(subject.Add("a", kNow, kNow + kSecond) == Status::kApplied);
  const std::uint64_t first = subject.revision();
  CHECK(subject.Add("a", kNow, kNow + kSecond) == Status::kApplied);
  CHECK(subject.revision() > first);
  CHECK(subject.Value("a", "n") == 2);
  RequestBuilder removal(kNow);
  removal.Write("a").RemoveRecord();
  CHECK(subject.Commit(removal) == Status::kApplied);
  CHECK(subject.revision() == 0);
  CHECK(!subject.Has("a"));
  CHECK(subject.table.Stats().records == 0);
  CHECK(subject.Add("a", kNow, kNow + kSecond) == Status::kApplied);
  CHECK(subject.revision() > first + 1);
}

TEST_CASE(PublishesAllRecordsOrNone) {
  Subject subject(kMiB, 1000);
  (void)subject.Add("b", kNow, kNow + kSecond);
  RequestBuilder request(kNow);
  request.Write("a").Add("n", 1);
  request.Write("b", Expectation::kAbsent).Add("n", 1);
  CHECK(subject.Commit(request) == Status::kConflict);
  CHECK(wafstate::Load<std::uint16_t>(subject.reply.data() + 6) == 1);
  CHECK(!subject.Has("a"));
  CHECK(subject.Value("b", "n") == 1);
  CHECK(subject.table.Stats().records == 1);
}

TEST_CASE(RefusesARecordThatStandsTwice) {
  Subject subject(kMiB, 1000);
  RequestBuilder request(kNow);
  request.Write("a").RemoveRecord();
  request.Write("b").Add("n", 1);
  request.Write("a").Add("n", 1);
  CHECK(subject.Commit(request) == Status::kMalformed);
  CHECK(subject.table.Stats().records == 0);
}

TEST_CASE(MovesARecordThatChangesItsSize) {
  Subject subject(4 * kMiB, 1000);
  std::mt19937 random(7);
  Buffer value;
  for (int i = 0; i < 2000; ++i) {
    value.assign(random() % 3 == 0 ? random() % 100'000 : random() % 1500, 'x');
    RequestBuilder request(kNow);
    request.Write("record " + std::to_string(random() % 10)).Set("value", value).Add("n", 1);
    CHECK(subject.Commit(request) == Status::kApplied);
  }
  std::int64_t sum = 0;
  for (int i = 0; i < 10; ++i)
    sum += subject.Value("record " + std::to_string(i), "n");
  CHECK(sum == 2000);
  RequestBuilder removal(kNow);
  for (int i = 0; i < 10; ++i)
    removal.Write("record " + std::to_string(i)).RemoveRecord();
  const std::uint64_t empty = Subject(4 * kMiB, 1000).table.Stats().bytes;
  CHECK(subject.table.Stats().bytes > empty);
  CHECK(subject.Commit(removal) == Status::kApplied);
  CHECK(subject.table.Stats().bytes == empty);
}

TEST_CASE(EvictsWhatEndedThenWhatWasSeenOnceThenTheLeastRecentlyUsed) {
  Subject subject(kMiB, 4);
  (void)subject.Add("again", kNow, kNow + 60 * kSecond);
  (void)subject.Add("again", kNow, kNow + 60 * kSecond);
  (void)subject.Add("block", kNow, kNow + 3600 * kSecond);
  (void)subject.Add("ended", kNow, kNow + 5 * kSecond);
  (void)subject.Add("once", kNow, kNow + 60 * kSecond);
  const std::int64_t later = kNow + 10 * kSecond;
  (void)subject.Add("x", later, later + 60 * kSecond);
  CHECK(!subject.Has("ended"));
  CHECK(subject.session.evicted()[0] == 1);
  (void)subject.Add("y", later, later + 60 * kSecond);
  CHECK(!subject.Has("once"));
  (void)subject.Add("z", later, later + 60 * kSecond);
  CHECK(!subject.Has("x"));
  CHECK(subject.session.evicted()[1] == 1);
  // All but the block are seen again: the least recently used of them goes.
  (void)subject.Add("y", later, later + 60 * kSecond);
  (void)subject.table.Stats();
  CHECK(!subject.Has("z") || subject.Add("z", later, later + 60 * kSecond) == Status::kApplied);
  (void)subject.Add("new", later, later + 60 * kSecond);
  CHECK(!subject.Has("again"));
  CHECK(subject.session.evicted()[2] == 1);
  CHECK(subject.Has("block"));
  CHECK(subject.table.Stats().records == 4);
}

// The policy as one would write it down without a thought for speed.
class ObviousModel {
 public:
  explicit ObviousModel(std::size_t capacity) : capacity_(capacity) {}

  void Touch(const std::string& key, bool held) {
    const auto place =
        std::find_if(all_.begin(), all_.end(), [&key](const Item& item) { return item.key == key; });
    if (place == all_.end()) {
      if (all_.size() == capacity_) Evict();
      all_.push_back({.key = key, .again = false, .held = held, .referenced = false});
      return;
    }
    if (place->again && !place->held && !held) {
      place->referenced = true;
      return;
    }
    if (place->again && place->held && held) return;
    // Moves to the end of another queue.
    Item item = *place;
    all_.erase(place);
    item.again = true;
    item.held = held;
    item.referenced = false;
    all_.push_back(item);
  }
  [[nodiscard]] std::set<std::string> Keys() const {
    std::set<std::string> keys;
    for (const Item& item : all_)
      keys.insert(item.key);
    return keys;
  }

 private:
  struct Item {
    std::string key;
    bool again;
    bool held;
    bool referenced;
  };
  void Evict() {
    const auto first = [this](bool again, bool held) {
      return std::find_if(all_.begin(), all_.end(),
                          [=](const Item& item) { return item.again == again && item.held == held; });
    };
    for (int chances = 0; first(false, false) == all_.end() && chances < 16; ++chances) {
      const auto oldest = first(true, false);
      if (oldest == all_.end() || !oldest->referenced) break;
      Item item = *oldest;
      item.referenced = false;
      all_.erase(oldest);
      all_.push_back(item);
    }
    auto victim = first(false, false);
    if (victim == all_.end()) victim = first(true, false);
    if (victim == all_.end()) victim = first(false, true);
    // Held and seen again: all have the same deadline here, so the one that came first.
    if (victim == all_.end()) victim = first(true, true);
    all_.erase(victim);
  }

  std::size_t capacity_;
  std::deque<Item> all_;
};

TEST_CASE(EvictsAsTheObviousModelDoes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Subject subject(kMiB, 30);
    ObviousModel model(30);
    std::set<std::string> stored;
    for (int i = 0; i < 1500; ++i) {
      const std::string key = std::to_string(random() % 20 == 0 ? random() % 25 : random() % 200);
      // Some are blocks from the start to the end; not so many that they fill the table.
      const bool held = key.size() == 1;
      const std::int64_t deadline = kNow + (held ? 3600 : 60) * kSecond;
      CHECK(subject.Add(key, kNow, deadline) == Status::kApplied);
      model.Touch(key, held);
    }
    std::set<std::string> present;
    for (int i = 0; i < 200; ++i) {
      if (subject.Has(std::to_string(i))) present.insert(std::to_string(i));
    }
    CHECK(present == model.Keys());
  }
}

TEST_CASE(BlocksOutliveAFloodOfNewAddresses) {
  Subject subject(16 * kMiB, 20'000);
  for (int i = 0; i < 500; ++i) {
    const std::string key = "blocked " + std::to_string(i);
    for (int n = 0; n < 2; ++n)
      (void)subject.Add(key, kNow, kNow + 3600 * kSecond);
  }
  // Short windows, then windows as long as the blocks.
  for (int i = 0; i < 100'000; ++i)
    CHECK(subject.Add("short " + std::to_string(i), kNow, kNow + 60 * kSecond) == Status::kApplied);
  for (int i = 0; i < 100'000; ++i)
    CHECK(subject.Add("long " + std::to_string(i), kNow, kNow + 3600 * kSecond) == Status::kApplied);
  CHECK(subject.table.Stats().records == 20'000);
  for (int i = 0; i < 500; ++i) {
    Buffer record;
    CHECK(subject.table.Load(KeyOf("blocked " + std::to_string(i)), record));
  }
}

TEST_CASE(GivesUpTheBlockThatEndsFirstWhereThereIsNothingElse) {
  Subject subject(kMiB, 10);
  for (int i = 0; i < 10; ++i) {
    for (int n = 0; n < 2; ++n)
      (void)subject.Add(std::to_string(i), kNow, kNow + (4000 - i * 100) * kSecond);
  }
  CHECK(subject.Add("new", kNow, kNow + 60 * kSecond) == Status::kApplied);
  CHECK(subject.session.evicted()[3] == 1);
  CHECK(!subject.Has("9"));
  for (int i = 0; i < 9; ++i)
    CHECK(subject.Has(std::to_string(i)));
}

TEST_CASE(GivesUpABlockThoughTheNextToEndAreOfTheCommitItself) {
  Subject subject(kMiB, 40);
  constexpr std::int64_t kHour = 3600 * kSecond;
  const auto key = [](int i) { return "block " + std::to_string(i); };
  for (int i = 0; i < 40; ++i) {
    CHECK(subject.Add(key(i), kNow, kNow + (i + 1) * kHour) == Status::kApplied);
    CHECK(subject.Add(key(i), kNow, kNow + (i + 1) * kHour) == Status::kApplied);
  }
  RequestBuilder request(kNow);
  for (int i = 0; i < 30; ++i)
    request.Write(key(i)).Add("n", 1);
  request.Write("new").Add("n", 1);
  CHECK(subject.Commit(request) == Status::kApplied);
  CHECK(subject.Has("new"));
  CHECK(!subject.Has(key(30)));
}

TEST_CASE(ACleanupEndsThoughAnotherClockIsAhead) {
  Subject subject(kMiB, 1000);
  constexpr std::int64_t kHour = 3600 * kSecond;
  CHECK(subject.Add("ahead", kNow + kHour, kNow + 2 * kHour) == Status::kApplied);
  for (int i = 0; i < 300; ++i)
    (void)subject.Add("live " + std::to_string(i), kNow, kNow + kHour / 2);
  (void)subject.Add("dead", kNow, kNow + kSecond);
  Buffer buffer;
  std::size_t removed = 0;
  for (int pass = 0; pass < 2; ++pass) {
    bool wrapped = false;
    for (int slice = 0; slice < 4 && !wrapped; ++slice) {
      SweepCounts counts;
      wrapped = subject.table.CleanUp(kNow + kSecond, {.records = 128, .variables = 4096}, counts, buffer);
      removed += counts.records_removed;
    }
    CHECK(wrapped);
  }
  CHECK(removed == 1);
}

TEST_CASE(RefusesWhereToldToUntilSomethingEnds) {
  Subject subject(64 * kMiB, 65'536, false);
  for (int i = 0; i < 65'536; ++i)
    CHECK(subject.Add(std::to_string(i), kNow, kNow + (i == 7 ? 5 : 60) * kSecond) == Status::kApplied);
  CHECK(subject.Add("new", kNow, kNow + 60 * kSecond) == Status::kTableFull);
  CHECK(subject.session.bound() == TableBound::kRecords);
  CHECK(wafstate::Load<std::uint64_t>(subject.reply.data() + 12) == 65'536);
  CHECK(subject.table.Stats().refused == 1);
  CHECK(subject.Add("8", kNow, kNow + 60 * kSecond) == Status::kApplied);
  const std::int64_t later = kNow + 10 * kSecond;
  CHECK(subject.Add("new", later, later + 60 * kSecond) == Status::kApplied);
  CHECK(!subject.Has("7"));
  CHECK(subject.Add("newer", later, later + 60 * kSecond) == Status::kTableFull);
}

TEST_CASE(NeverTakesMoreThanItsBytes) {
  Subject subject(4 * kMiB, 1'000'000'000);
  std::mt19937 random(3);
  Buffer value;
  for (int i = 0; i < 60'000; ++i) {
    // First all of one size, then of another, so that the pages must change hands.
    value.assign(i < 20'000 ? 10 : i < 40'000 ? 200 : random() % 3000, 'x');
    RequestBuilder request(kNow);
    request.Write(std::to_string(i)).Set("value", value);
    CHECK(subject.Commit(request) == Status::kApplied);
    CHECK(subject.table.Stats().bytes <= 4 * kMiB);
  }
  CHECK(subject.table.Stats().bytes > 3 * kMiB);
  value.assign(2 * kMiB, 'x');
  RequestBuilder request(kNow);
  request.Write("too large").Set("value", value);
  CHECK(subject.Commit(request) == Status::kTableFull);
  CHECK(subject.session.bound() == TableBound::kOneRecord);
}

TEST_CASE(CleansUpWhatIsDueAndNothingElse) {
  Subject subject(16 * kMiB, 100'000);
  for (int i = 0; i < 10'000; ++i)
    (void)subject.Add(std::to_string(i), kNow, kNow + (i < 300 ? 5 : 600) * kSecond);
  RequestBuilder partly(kNow);
  partly.Write("partly").Add("n", 1).Expire("n", kNow + 5 * kSecond).Add("stays", 1);
  CHECK(subject.Commit(partly) == Status::kApplied);
  const std::uint64_t revision = subject.revision();
  RequestBuilder empty(kNow);
  empty.Write("empty").Remove("n");
  CHECK(subject.Commit(empty) == Status::kApplied);
  SweepCounts total;
  Buffer buffer;
  int calls = 0;
  for (bool done = false; !done; ++calls) {
    SweepCounts counts;
    done = subject.table.CleanUp(kNow + 10 * kSecond, {.records = 50, .variables = 1000}, counts, buffer);
    CHECK(counts.records_examined <= 50);
    total.records_examined += counts.records_examined;
    total.records_removed += counts.records_removed;
    total.variables_removed += counts.variables_removed;
  }
  CHECK(total.records_examined == 302);
  CHECK(total.records_removed == 301);
  CHECK(total.variables_removed == 301);
  CHECK(calls >= 6);
  CHECK(subject.table.Stats().records == 9701);
  Buffer record;
  CHECK(subject.table.Load(KeyOf("partly"), record));
  RecordView view;
  CHECK(view.Open(record) == Corruption::kNone);
  CHECK(view.variable_count() == 1);
  CHECK(view.revision() > revision);
}

TEST_CASE(ListsInByteOrder) {
  Subject subject(64 * kMiB, 1'000'000);
  std::set<Buffer> model;
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    const std::string key = std::to_string(random());
    (void)subject.Add(key, kNow, kNow + 60 * kSecond);
    model.insert(KeyOf(key));
  }
  std::vector<Buffer> listed;
  bool more = true;
  while (more) {
    TableScan scan{
        .prefix = KeyOf("1"), .after = {}, .limit = 100, .now = kNow, .hidden = false, .found = {}};
    if (!listed.empty()) scan.after = listed.back();
    while (!subject.table.Scan(scan, 1000)) {
    }
    for (const auto& [key, record] : scan.found)
      listed.push_back(key);
    more = scan.more;
  }
  std::vector<Buffer> expected;
  for (const Buffer& key : model) {
    if (key[2] == '1') expected.push_back(key);
  }
  CHECK(listed == expected);
}

TEST_CASE(OneOfManyCallersSweeps) {
  Subject subject(kMiB, 10);
  CHECK(subject.table.ClaimSweep(1'000'000));
  CHECK(!subject.table.ClaimSweep(1'000'000));
}

TEST_CASE(ANameIsOneTable) {
  const TableOptions options{.max_bytes = kMiB, .max_records = 10, .evicts = true};
  SharedTable& table = OpenSharedTable("one", options);
  CHECK(&OpenSharedTable("one", {.max_bytes = 2 * kMiB, .max_records = 10, .evicts = true}) == &table);
  CHECK(table.options() == options);
  CHECK(&OpenSharedTable("two", options) != &table);
}

}  // namespace

TEST_MAIN("shared_table_test")
