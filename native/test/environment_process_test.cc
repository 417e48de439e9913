// Several processes on one environment: exact sums, killed holders, dead readers, growth by others, full
// disks. The other processes are this program again, started with a role.

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <thread>

#include "test/check.h"
#include "test/environment_fixture.h"

namespace wafstate::test {

namespace {

EnvironmentOptions RelaxedOptions(const std::string& path) {
  EnvironmentOptions options = Options(path);
  options.relaxed = true;
  return options;
}

// Another process, which tells by a byte on its standard output that it has come to where it waits.
class Process {
 public:
  Process(const char* role, const std::string& path) {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    char program[] = "/proc/self/exe";
    std::string role_argument = role;
    std::string path_argument = path;
    char* const arguments[] = {program, role_argument.data(), path_argument.data(), nullptr};
    if (posix_spawn(&pid_, program, &actions, nullptr, arguments, environ) != 0) std::abort();
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
  }
  ~Process() { close(output_); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] bool WaitUntilReady() const {
    char byte = 0;
    return read(output_, &byte, 1) == 1;
  }
  void Kill() const { kill(pid_, SIGKILL); }
  // The exit code, -1 where it was killed.
  [[nodiscard]] int Wait() const {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) std::abort();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

void TellAndWait() {
  if (write(STDOUT_FILENO, "r", 1) != 1) _exit(9);
  for (;;)
    pause();
}

constexpr int kBatches = 100;
constexpr std::size_t kBigRecord = std::size_t{16} << 20;
constexpr int kBigRecords = 12;

// Counts `a` up, two a batch, and reads in between.
int Increment(const std::string& path) {
  Opened opened(RelaxedOptions(path));
  if (opened.fault) return 2;
  std::int64_t last = 0;
  for (int i = 0; i < kBatches; ++i) {
    if (Count(opened.Execute(BatchBuilder().Add("a", "n", 1).Add("a", "n", 1)), Status::kApplied) != 2)
      return 3;
    const std::int64_t now = opened.Counter("a");
    if (now < last + 2) return 4;
    last = now;
  }
  return 0;
}

// Opens and closes, also for reading only, which must not undo what others commit.
int Reopen(const std::string& path) {
  for (int i = 0; i < 2 * kBatches; ++i) {
    EnvironmentOptions options = RelaxedOptions(path);
    options.read_only = i % 2 == 0;
    if (Opened(options).fault) return 2;
  }
  return 0;
}

int HoldGate(const std::string& path) {
  Opened opened(RelaxedOptions(path));
  Gate::Pass pass;
  if (opened.fault || opened.reference->gate().Enter(pass)) return 2;
  TellAndWait();
  return 0;
}

int DieWithinTransaction(const std::string& path) {
  Opened opened(RelaxedOptions(path));
  Gate::Pass pass;
  if (opened.fault || opened.reference->gate().Enter(pass)) return 2;
  WriteTransaction transaction(*opened.reference, pass);
  if (transaction.Begin() || transaction.Put(KeyOf("half"), ToBytes("done"))) return 3;
  TellAndWait();
  return 0;
}

int OccupyReaders(const std::string& path) {
  Opened opened(RelaxedOptions(path));
  if (opened.fault) return 2;
  MDB_txn* txn = nullptr;
  while (!opened.reference->BeginRead(&txn)) {
  }
  TellAndWait();
  return 0;
}

int GrowFile(const std::string& path) {
  EnvironmentOptions options = RelaxedOptions(path);
  options.map_size = std::uint64_t{1} << 30;
  Opened opened(options);
  if (opened.fault) return 2;
  for (int i = 0; i < kBigRecords; ++i) {
    const auto answers =
        opened.Execute(BatchBuilder().Set("big" + std::to_string(i), "n", std::string(kBigRecord, 'x')));
    if (Count(answers, Status::kApplied) != 1) return 3;
  }
  return 0;
}

// A file size limit stands for a full disk: both stop a write in its middle, which LMDB reports as EIO.
int RunOutOfDisk(const std::string& path) {
  Opened opened(RelaxedOptions(path));
  if (opened.fault || opened.Execute(BatchBuilder().Add("a", "n", 1)).size() != 1) return 2;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = rlim_t{256} << 10;
  setrlimit(RLIMIT_FSIZE, &limit);
  const auto full = opened.Execute(BatchBuilder().Set("b", "n", std::string(1 << 20, 'x')).Add("a", "n", 1));
  if (Count(full, Status::kDiskFull) != 2 || full[0].actual != EIO) return 3;
  if (opened.Counter("a") != 1 || opened.Counter("b") != -1) return 4;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
  const auto after = opened.Execute(BatchBuilder().Set("b", "n", std::string(1 << 20, 'x')).Add("a", "n", 1));
  return Count(after, Status::kApplied) == 2 && opened.Counter("a") == 2 ? 0 : 5;
}

struct Role {
  const char* name;
  int (*run)(const std::string& path);
};

constexpr Role kRoles[] = {
    {"increment", Increment},          {"reopen", Reopen},        {"hold-gate", HoldGate},
    {"die", DieWithinTransaction},     {"occupy", OccupyReaders}, {"grow", GrowFile},
    {"run-out-of-disk", RunOutOfDisk},
};

}  // namespace

TEST_CASE(processes_count_exactly_while_others_open) {
  const Directory directory;
  constexpr int kWriters = 3;
  std::vector<std::unique_ptr<Process>> processes;
  processes.reserve(kWriters + 1);
  for (int i = 0; i < kWriters; ++i)
    processes.push_back(std::make_unique<Process>("increment", directory.path()));
  processes.push_back(std::make_unique<Process>("reopen", directory.path()));
  std::vector<int> codes;
  codes.reserve(processes.size());
  for (const auto& process : processes)
    codes.push_back(process->Wait());
  // The opener may have come before there was anything to read.
  for (int i = 0; i < kWriters; ++i)
    CHECK(codes[static_cast<std::size_t>(i)] == 0);
  Opened opened(RelaxedOptions(directory.path()));
  CHECK(opened.Counter("a") == std::int64_t{2} * kWriters * kBatches);
}

TEST_CASE(the_gate_passes_on_when_its_holder_is_killed) {
  const Directory directory;
  Opened opened(RelaxedOptions(directory.path()));
  const Process holder("hold-gate", directory.path());
  CHECK(holder.WaitUntilReady());
  std::vector<Answer> answers;
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    answers = opened.Execute(BatchBuilder().Add("a", "n", 1));
    done = true;
  });
  // Reads do not wait for the gate.
  CHECK(opened.Counter("a") == -1);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!done);
  holder.Kill();
  CHECK(holder.Wait() == -1);
  writer.join();
  CHECK(Count(answers, Status::kApplied) == 1);
  CHECK(!Opened(RelaxedOptions(directory.path())).fault);
}

TEST_CASE(a_transaction_that_is_killed_leaves_no_trace) {
  const Directory directory;
  Opened opened(RelaxedOptions(directory.path()));
  CHECK(Count(opened.Execute(BatchBuilder().Add("a", "n", 1)), Status::kApplied) == 1);
  const Process victim("die", directory.path());
  CHECK(victim.WaitUntilReady());
  victim.Kill();
  CHECK(victim.Wait() == -1);
  CHECK(Count(opened.Execute(BatchBuilder().Add("a", "n", 1)), Status::kApplied) == 1);
  CHECK(opened.Counter("a") == 2);
  CHECK(opened.Counter("half") == -1);
}

TEST_CASE(slots_of_dead_readers_are_taken_again) {
  const Directory directory;
  Opened opened(RelaxedOptions(directory.path()));
  const Process reader("occupy", directory.path());
  CHECK(reader.WaitUntilReady());
  std::uint8_t scratch[256];
  std::size_t size = 0;
  const Fault fault = opened.reader->Load(KeyOf("a"), kNow, scratch, size);
  CHECK(fault.failure == Failure::kReadersFull);
  CHECK(fault.limit == Options("").max_readers);
  CHECK(Count(opened.Execute(BatchBuilder().Add("a", "n", 1)), Status::kApplied) == 1);
  reader.Kill();
  CHECK(reader.Wait() == -1);
  CHECK(opened.Counter("a") == 1);
}

TEST_CASE(growth_by_a_process_with_a_larger_cap_is_followed) {
  const Directory directory;
  Opened opened(RelaxedOptions(directory.path()));
  CHECK(Count(opened.Execute(BatchBuilder().Add("a", "n", 1)), Status::kApplied) == 1);
  CHECK(Process("grow", directory.path()).Wait() == 0);
  std::atomic<int> unread = 0;
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        Opened mine(RelaxedOptions(directory.path()));
        Buffer scratch(kBigRecord + 1024);
        for (int record = 0; record < kBigRecords; ++record) {
          std::size_t size = 0;
          const Fault fault = mine.reader->Load(KeyOf("big" + std::to_string(record)), kNow, scratch, size);
          unread += fault || size <= kBigRecord ? 1 : 0;
        }
      });
    }
  }
  CHECK(unread == 0);
  // Beyond this process's cap: what is there may be changed and removed, nothing may be added.
  CHECK(opened.Execute(BatchBuilder().Set("new", "n", std::string(1 << 20, 'x')))[0].status ==
        Status::kMapFull);
  CHECK(opened.Execute(BatchBuilder().RemoveRecord("big0"))[0].status == Status::kApplied);
  CHECK(opened.Counter("a") == 1);
}

TEST_CASE(a_full_disk_fails_one_batch_and_is_survived) {
  const Directory directory;
  CHECK(Process("run-out-of-disk", directory.path()).Wait() == 0);
  Opened opened(RelaxedOptions(directory.path()));
  CHECK(opened.Counter("a") == 2);
}

}  // namespace wafstate::test

int main(int argc, char** argv) {
  using wafstate::test::kRoles;
  using wafstate::test::Role;
  if (argc == 1) return wafstate::test::RunAll("environment_process_test");
  const auto* const role = std::find_if(std::begin(kRoles), std::end(kRoles), [&](const Role& known) {
    return std::strcmp(known.name, argv[1]) == 0;
  });
  return role != std::end(kRoles) && argc == 3 ? role->run(argv[2]) : EXIT_FAILURE;
}
