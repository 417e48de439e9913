// Batches, reads, scans and sweeps on one LMDB environment, by one thread and by several.

#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "core/environment_layout.h"
#include "core/environment_sweep.h"
#include "test/check.h"
#include "test/environment_fixture.h"

namespace wafstate::test {

TEST_CASE(a_batch_of_a_thousand_is_applied_and_outlives_its_environment) {
  const Directory directory;
  BatchBuilder batch;
  for (int i = 0; i < 1000; ++i)
    batch.Add("key" + std::to_string(i), "n", i);
  {
    Opened opened(Options(directory.path()));
    CHECK(!opened.fault);
    const std::vector<Answer> answers = opened.Execute(batch);
    CHECK(answers.size() == 1000);
    CHECK(Count(answers, Status::kApplied) == 1000);
    for (std::size_t i = 1; i < answers.size(); ++i)
      CHECK(answers[i].revision > answers[i - 1].revision);
    CHECK(opened.Counter("key17") == 17);
  }
  CHECK(!EnvironmentReference::IsOpen(directory.path()));
  Opened again(Options(directory.path()));
  CHECK(EnvironmentReference::IsOpen(directory.path()));
  CHECK(again.Counter("key999") == 999);
  CHECK(again.Counter("key1000") == -1);
  EnvironmentFigures figures;
  CHECK(!again.reader->Figures(figures));
  CHECK(figures.records == 1000);
}

TEST_CASE(a_conflict_fails_alone) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  const std::uint64_t revision = opened.Execute(BatchBuilder().Add("a", "n", 1))[0].revision;
  const auto answers = opened.Execute(
      BatchBuilder().AddAt("a", revision, "n", 1).AddAt("a", revision, "n", 1).Add("a", "n", 1));
  CHECK(answers[0].status == Status::kApplied);
  CHECK(answers[1].status == Status::kConflict);
  CHECK(answers[1].limit == revision);
  CHECK(answers[1].actual == answers[0].revision);
  CHECK(answers[2].status == Status::kApplied);
  CHECK(opened.Counter("a") == 3);
}

TEST_CASE(revisions_are_not_reused_after_removal_or_reopening) {
  const Directory directory;
  std::uint64_t before = 0;
  {
    Opened opened(Options(directory.path()));
    before = opened.Execute(BatchBuilder().Add("a", "n", 1))[0].revision;
    CHECK(opened.Execute(BatchBuilder().RemoveRecord("a"))[0].revision == 0);
    // As if the clock had been ahead.
    std::uint8_t ahead[8];
    before += std::uint64_t{1} << 40;
    Store(ahead, before);
    CHECK(PutRaw(*opened.reference, kRevisionKey, ahead));
  }
  Opened opened(Options(directory.path()));
  CHECK(opened.Execute(BatchBuilder().Add("a", "n", 1))[0].revision == before + 1);
}

TEST_CASE(revisions_are_not_reused_after_a_record_came_and_went_within_a_batch) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  std::uint8_t ahead[8];
  Store(ahead, std::uint64_t{1} << 52);
  CHECK(PutRaw(*opened.reference, kRevisionKey, ahead));
  const auto answers = opened.Execute(BatchBuilder().Add("a", "n", 1).RemoveRecord("a"));
  CHECK(answers[0].revision == (std::uint64_t{1} << 52) + 1);
  CHECK(opened.Counter("a") == -1);
  CHECK(opened.Execute(BatchBuilder().Add("a", "n", 1))[0].revision > answers[0].revision);
}

TEST_CASE(the_last_reply_is_there_for_another_thread) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  const std::vector<Answer> answers = opened.Execute(BatchBuilder().Add("a", "n", 1));
  Buffer reply;
  CHECK(opened.reference->replies().Find(1, 1, reply) == BatchState::kDone);
  CHECK(Answers(reply)[0].revision == answers[0].revision);
  CHECK(opened.reference->replies().Find(1, 2, reply) == BatchState::kUnknown);
  CHECK(opened.reference->replies().Find(2, 1, reply) == BatchState::kUnknown);
  opened.reference->replies().Forget(1);
  CHECK(opened.reference->replies().Find(1, 1, reply) == BatchState::kUnknown);
}

TEST_CASE(threads_share_one_environment_and_count_exactly) {
  const Directory directory;
  constexpr int kThreads = 4;
  constexpr int kBatches = 50;
  EnvironmentOptions options = Options(directory.path());
  options.relaxed = true;
  Opened opened(options);
  std::atomic<int> faults = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        Opened mine(options);
        faults += mine.reference.get() == opened.reference.get() ? 0 : 1;
        for (int batch = 0; batch < kBatches; ++batch) {
          const auto answers = mine.Execute(BatchBuilder().Add("a", "n", 1).Add("a", "n", 1));
          faults += Count(answers, Status::kApplied) == 2 ? 0 : 1;
          faults += mine.Counter("a") >= std::int64_t{2} * (batch + 1) ? 0 : 1;
        }
      });
    }
  }
  CHECK(faults == 0);
  CHECK(opened.Counter("a") == std::int64_t{2} * kThreads * kBatches);
}

TEST_CASE(other_options_are_refused) {
  const Directory directory;
  const EnvironmentOptions options = Options(directory.path());
  EnvironmentOptions relaxed = options;
  relaxed.relaxed = true;
  EnvironmentOptions read_only = options;
  read_only.read_only = true;
  CHECK(Opened(read_only).fault.failure == Failure::kAbsent);
  {
    const Opened opened(options);
    EnvironmentOptions larger = options;
    larger.map_size *= 2;
    const Opened refused(larger);
    CHECK(refused.fault.failure == Failure::kOptionMismatch);
    CHECK(refused.fault.actual == options.map_size);
    CHECK(Opened(relaxed).fault.failure == Failure::kOptionMismatch);
    CHECK(!Opened(read_only).fault);
  }
  CHECK(Opened(relaxed).fault.failure == Failure::kDurabilityMismatch);
  {
    const Opened reader(read_only);
    CHECK(!reader.fault);
    CHECK(Opened(options).fault.failure == Failure::kOptionMismatch);
  }
  EnvironmentOptions missing = options;
  missing.path += "/missing";
  CHECK(Opened(missing).fault.failure == Failure::kAbsent);
}

TEST_CASE(what_is_not_ours_is_refused) {
  const Directory directory;
  const EnvironmentOptions options = Options(directory.path());
  const auto overwrite_note = [&](Bytes note) {
    const Opened opened(options);
    CHECK(PutRaw(*opened.reference, kEnvironmentKey, note));
  };
  const std::uint8_t newer[] = {'W', 'E', 2, 1};
  overwrite_note(newer);
  const Opened refused(options);
  CHECK(refused.fault.failure == Failure::kFormatVersion);
  CHECK(refused.fault.actual == 2);
  CHECK(!EnvironmentReference::IsOpen(directory.path()));
}

TEST_CASE(a_stranger_s_data_is_left_alone) {
  const Directory directory;
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  MDB_val key = ToValue(kFirstRecordKey);
  MDB_val value = key;
  CHECK(mdb_env_create(&env) == 0);
  CHECK(mdb_env_open(env, directory.path().c_str(), MDB_NOTLS, 0600) == 0);
  CHECK(mdb_txn_begin(env, nullptr, 0, &txn) == 0);
  CHECK(mdb_dbi_open(txn, nullptr, 0, &dbi) == 0);
  CHECK(mdb_put(txn, dbi, &key, &value, 0) == 0);
  CHECK(mdb_txn_commit(txn) == 0);
  mdb_env_close(env);
  EnvironmentOptions options = Options(directory.path());
  CHECK(Opened(options).fault.failure == Failure::kForeign);
  options.read_only = true;
  CHECK(Opened(options).fault.failure == Failure::kForeign);
}

TEST_CASE(a_corrupt_record_hides_no_other_and_can_be_removed) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  CHECK(Count(opened.Execute(BatchBuilder().Add("a", "n", 1).Add("b", "n", 2).Add("c", "n", 3)),
              Status::kApplied) == 3);
  std::uint8_t scratch[4096];
  std::size_t size = 0;
  CHECK(!opened.reader->LoadRaw(KeyOf("b"), scratch, size));
  scratch[size - 1] ^= 1;
  CHECK(PutRaw(*opened.reference, KeyOf("b"), {scratch, size}));
  // A sound record under a name that is not its own.
  CHECK(!opened.reader->LoadRaw(KeyOf("a"), scratch, size));
  CHECK(PutRaw(*opened.reference, KeyOf("d"), {scratch, size}));

  const Fault fault = opened.reader->Load(KeyOf("b"), kNow, scratch, size);
  CHECK(fault.failure == Failure::kCorrupt);
  CHECK(fault.code == static_cast<int>(Corruption::kChecksum));
  CHECK(opened.reader->Load(KeyOf("d"), kNow, scratch, size).code ==
        static_cast<int>(Corruption::kOtherName));
  const auto answers = opened.Execute(BatchBuilder().Add("a", "n", 1).Add("b", "n", 1).Add("c", "n", 1));
  CHECK(answers[0].status == Status::kApplied);
  CHECK(answers[1].status == Status::kCorruptRecord);
  CHECK(answers[2].status == Status::kApplied);

  CHECK(!opened.reader->Scan({.from = {}, .prefix = {}, .limit = 10, .corrupt_only = true}, scratch, size));
  CHECK(Load<std::uint32_t>(scratch) == 2);
  CHECK(Load<std::uint32_t>(scratch + 4) == 4);
  EnvironmentSweepResult swept;
  CHECK(!SweepEnvironment(*opened.reference, kNow, {.records = 10, .variables = 10}, 0, swept));
  CHECK(swept.records_examined == 4);
  CHECK(swept.records_removed == 0);

  bool existed = false;
  CHECK(!opened.writer->Delete(KeyOf("b"), existed));
  CHECK(existed);
  CHECK(!opened.writer->Delete(KeyOf("b"), existed));
  CHECK(!existed);
  CHECK(opened.Counter("b") == -1);
  CHECK(opened.Counter("c") == 4);
}

TEST_CASE(a_record_larger_than_the_scratch_is_announced) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  CHECK(Count(opened.Execute(BatchBuilder().Set("a", "n", std::string(5000, 'x'))), Status::kApplied) == 1);
  Buffer scratch(100, 7);
  std::size_t size = 0;
  CHECK(!opened.reader->Load(KeyOf("a"), kNow, scratch, size));
  CHECK(size > 5000);
  CHECK(scratch == Buffer(100, 7));
  scratch.resize(size);
  const std::size_t announced = size;
  CHECK(!opened.reader->Load(KeyOf("a"), kNow, scratch, size));
  CHECK(size == announced);
  RecordView record;
  CHECK(record.Open(scratch) == Corruption::kNone);

  scratch.assign(2000, 0);
  CHECK(!opened.reader->Scan({.from = {}, .prefix = {}, .limit = 10}, scratch, size));
  CHECK(size > scratch.size());
  scratch.resize(size);
  CHECK(!opened.reader->Scan({.from = {}, .prefix = {}, .limit = 10}, scratch, size));
  CHECK(size <= scratch.size());
  CHECK(Load<std::uint32_t>(scratch.data()) == 1);
}

TEST_CASE(a_scan_goes_page_by_page_in_byte_order) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  BatchBuilder batch;
  for (int i = 0; i < 100; ++i)
    batch.Add((i % 2 == 0 ? "even" : "odd") + std::to_string(100 + i), "n", i);
  CHECK(Count(opened.Execute(batch), Status::kApplied) == 100);
  const Buffer prefix = KeyOf("odd");
  Buffer scratch(1800);
  Buffer from;
  std::int64_t expected = 1;
  int pages = 0;
  for (bool at_end = false; !at_end; ++pages) {
    std::size_t size = 0;
    CHECK(!opened.reader->Scan({.from = from, .exclusive = true, .prefix = prefix, .limit = 20}, scratch,
                               size));
    CHECK(size <= scratch.size());
    const auto entries = Load<std::uint32_t>(scratch.data());
    at_end = scratch[8] == 1;
    const auto last = Load<std::uint16_t>(scratch.data() + 10);
    from.assign(scratch.begin() + 12, scratch.begin() + 12 + last);
    std::size_t at = 12 + std::size_t{last};
    for (std::uint32_t i = 0; i < entries; ++i, expected += 2) {
      const auto key_size = Load<std::uint16_t>(scratch.data() + at);
      const auto record_size = Load<std::uint32_t>(scratch.data() + at + 4);
      CHECK(Equal(Bytes(scratch).subspan(at + 8, key_size), KeyOf("odd" + std::to_string(100 + expected))));
      at += 8 + std::size_t{key_size} + record_size;
    }
    CHECK(at == size);
  }
  CHECK(expected == 101);
  CHECK(pages > 3);
}

TEST_CASE(a_sweep_is_bounded_resumes_and_wraps) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  BatchBuilder batch;
  for (int i = 0; i < 10; ++i) {
    const std::string key = "key" + std::to_string(i);
    batch.Add(key, "kept", 1);
    batch.Add(key, "lost", 1).Expire(key, "lost", kNow + 10);
    if (i % 2 == 0) batch.Expire(key, "kept", kNow + 10);
  }
  const std::vector<Answer> answers = opened.Execute(batch);
  CHECK(Count(answers, Status::kApplied) == answers.size());
  const SweepBudget budget{.records = 4, .variables = 100};
  EnvironmentSweepResult result;
  std::size_t removed = 0;
  std::size_t variables = 0;
  for (int sweep = 0; sweep < 3; ++sweep) {
    CHECK(!SweepEnvironment(*opened.reference, kNow + 10, budget, 0, result));
    CHECK(result.records_examined == (sweep < 2 ? 4U : 2U));
    CHECK(result.wrapped == (sweep == 2));
    removed += result.records_removed;
    variables += result.variables_removed;
  }
  CHECK(removed == 5);
  CHECK(variables == 15);
  CHECK(opened.Counter("key0") == -1);
  CHECK(opened.Counter("key1") == 1);
  std::uint8_t scratch[256];
  std::size_t size = 0;
  CHECK(!opened.reader->Load(KeyOf("key1"), kNow, scratch, size));
  RecordView record;
  CHECK(record.Open({scratch, size}) == Corruption::kNone);
  CHECK(record.revision() > answers.back().revision);
  CHECK(record.facts().update_count == 3);

  CHECK(!SweepEnvironment(*opened.reference, kNow, {.records = 100, .variables = 2}, 0, result));
  CHECK(result.records_examined == 2);
  constexpr std::int64_t kHour = 3'600'000'000'000;
  CHECK(!SweepEnvironment(*opened.reference, kNow, budget, kHour, result));
  CHECK(!result.skipped);
  CHECK(!SweepEnvironment(*opened.reference, kNow, budget, kHour, result));
  CHECK(result.skipped);
  CHECK(result.records_examined == 0);
}

TEST_CASE(a_forked_child_is_refused_and_harms_nobody) {
  const Directory directory;
  Opened opened(Options(directory.path()));
  CHECK(Count(opened.Execute(BatchBuilder().Add("a", "n", 1)), Status::kApplied) == 1);
  CHECK(opened.Counter("a") == 1);
  const pid_t child = fork();
  if (child == 0) {
    std::uint8_t scratch[256];
    std::size_t size = 0;
    Bytes reply;
    const bool refused = opened.reader->Load(KeyOf("a"), kNow, scratch, size).failure == Failure::kForked &&
                         opened.writer->Execute(1, 9, {}, reply).failure == Failure::kForked &&
                         Opened(Options(directory.path())).fault.failure == Failure::kForked;
    opened.reader.reset();
    opened.writer.reset();
    opened.reference.Close();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(Count(opened.Execute(BatchBuilder().Add("a", "n", 1)), Status::kApplied) == 1);
  CHECK(opened.Counter("a") == 2);
}

}  // namespace wafstate::test

TEST_MAIN("environment_test")
