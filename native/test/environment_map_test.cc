// The hard cap on the data file: what still goes on where the map is full.

#include <sys/stat.h>

#include <algorithm>

#include "test/check.h"
#include "test/environment_fixture.h"

namespace wafstate::test {

namespace {

constexpr std::uint64_t kMapSize = std::uint64_t{4} << 20;

EnvironmentOptions SmallMap(const Directory& directory) {
  EnvironmentOptions options = Options(directory.path());
  options.map_size = kMapSize;
  options.relaxed = true;
  return options;
}

std::uint64_t FileBytes(const Directory& directory) {
  struct stat status {};
  stat((directory.path() + "/data.mdb").c_str(), &status);
  return static_cast<std::uint64_t>(status.st_size);
}

std::string Name(int i) {
  return "key" + std::to_string(100'000 + i);
}

// Records until the map takes no more, the last ones single so that not even one fits. Gives how many it
// took.
int Fill(Opened& opened, std::size_t value_bytes) {
  const std::string value(value_bytes, 'x');
  int count = 0;
  for (const int at_once : {100, 1}) {
    for (bool full = false; !full;) {
      BatchBuilder batch;
      for (int i = 0; i < at_once; ++i)
        batch.Set(Name(count + i), "n", value);
      const std::vector<Answer> answers = opened.Execute(batch);
      const std::size_t applied = Count(answers, Status::kApplied);
      full = Count(answers, Status::kMapFull) == answers.size();
      CHECK(full || applied == answers.size());
      for (const Answer& answer : answers)
        CHECK(answer.status == Status::kApplied || answer.limit == kMapSize);
      count += static_cast<int>(applied);
    }
  }
  return count;
}

}  // namespace

TEST_CASE(a_full_map_refuses_growth_and_nothing_else) {
  const Directory directory;
  Opened opened(SmallMap(directory));
  CHECK(Count(opened.Execute(BatchBuilder().Add("counter", "n", 1)), Status::kApplied) == 1);
  const int count = Fill(opened, 1000);
  CHECK(count > 1500);
  CHECK(FileBytes(directory) <= kMapSize);

  // A new record is refused, its neighbours in the same batch are not.
  const auto answers = opened.Execute(BatchBuilder()
                                          .Add("counter", "n", 1)
                                          .Set("new", "n", std::string(1000, 'x'))
                                          .RemoveRecord(Name(0))
                                          .Add("counter", "n", 1));
  CHECK(answers[0].status == Status::kApplied);
  CHECK(answers[1].status == Status::kMapFull);
  CHECK(answers[2].status == Status::kApplied);
  CHECK(answers[3].status == Status::kApplied);
  CHECK(opened.Counter("counter") == 3);
  CHECK(opened.Counter(Name(0)) == -1);

  // A counter that the refused request would have made is not made by the next one in its stead.
  const auto chain =
      opened.Execute(BatchBuilder().Set("new", "v", std::string(9000, 'x')).Add("new", "n", 1));
  CHECK(Count(chain, Status::kMapFull) == 2);
  CHECK(FileBytes(directory) <= kMapSize);
}

TEST_CASE(a_full_map_can_be_emptied_in_one_go_and_filled_again) {
  const Directory directory;
  Opened opened(SmallMap(directory));
  const int count = Fill(opened, 1000);
  // Scattered over all leaves, more of them than the reserve has pages.
  std::vector<int> left;
  left.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    left.push_back(i * 7919 % count);
  std::sort(left.begin(), left.end());
  left.erase(std::unique(left.begin(), left.end()), left.end());
  int rounds = 0;
  for (; !left.empty() && rounds < 100; ++rounds) {
    BatchBuilder batch;
    for (const int i : left)
      batch.RemoveRecord(Name(i));
    const std::vector<Answer> answers = opened.Execute(batch);
    CHECK(Count(answers, Status::kApplied) > 0);
    CHECK(Count(answers, Status::kApplied) + Count(answers, Status::kMapFull) == answers.size());
    std::vector<int> refused;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (answers[i].status != Status::kApplied) refused.push_back(left[i]);
    }
    left = std::move(refused);
  }
  CHECK(left.empty());
  CHECK(FileBytes(directory) <= kMapSize);
  CHECK(Fill(opened, 1000) > count / 2);
  CHECK(FileBytes(directory) <= kMapSize);
}

TEST_CASE(churn_in_a_full_map_goes_on_beside_a_reader_that_stays) {
  const Directory directory;
  Opened opened(SmallMap(directory));
  const int count = Fill(opened, 100);
  // Nothing that is freed from now on may be used again.
  MDB_txn* reader = nullptr;
  CHECK(!opened.reference->BeginRead(&reader));
  bool removable = true;
  int refusals = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<Answer> answers = opened.Execute(BatchBuilder().Expire(Name(i), "n", kNow + 1));
    refusals += answers[0].status == Status::kMapFull ? 1 : 0;
  }
  for (int i = 0; i < 3; ++i) {
    removable &=
        opened.Execute(BatchBuilder().RemoveRecord(Name(count - 1 - i)))[0].status == Status::kApplied;
  }
  CHECK(refusals > 0);
  CHECK(removable);
  CHECK(FileBytes(directory) <= kMapSize);
  mdb_txn_abort(reader);
  // LMDB reuses what became free two commits ago.
  for (int i = 0; i < 3; ++i)
    CHECK(opened.Execute(BatchBuilder().RemoveRecord(Name(i)))[0].status == Status::kApplied);
  CHECK(FileBytes(directory) <= kMapSize);
}

TEST_CASE(large_records_stay_below_the_cap) {
  const Directory directory;
  Opened opened(SmallMap(directory));
  const int count = Fill(opened, 300'000);
  CHECK(count >= 10);
  CHECK(FileBytes(directory) <= kMapSize);
  CHECK(opened.Execute(BatchBuilder().Set("huge", "n", std::string(32 << 20, 'x')))[0].status ==
        Status::kMapFull);
  CHECK(FileBytes(directory) <= kMapSize);
  CHECK(opened.Execute(BatchBuilder().RemoveRecord(Name(0)))[0].status == Status::kApplied);
  CHECK(opened.Execute(BatchBuilder().RemoveRecord(Name(1)))[0].status == Status::kApplied);
}

TEST_CASE(a_file_beyond_a_lowered_cap_does_not_grow) {
  const Directory directory;
  {
    Opened opened(SmallMap(directory));
    CHECK(Fill(opened, 1000) > 0);
  }
  EnvironmentOptions lowered = SmallMap(directory);
  lowered.map_size /= 2;
  Opened opened(lowered);
  CHECK(!opened.fault);
  const std::uint64_t before = FileBytes(directory);
  const std::vector<Answer> answers = opened.Execute(BatchBuilder().RemoveRecord(Name(0)));
  CHECK(answers[0].status == Status::kApplied);
  CHECK(opened.Execute(BatchBuilder().Set("new", "n", std::string(100'000, 'x')))[0].status ==
        Status::kMapFull);
  CHECK(FileBytes(directory) == before);
}

}  // namespace wafstate::test

TEST_MAIN("environment_map_test")
