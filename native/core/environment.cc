#include "core/environment.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "core/environment_layout.h"
#include "core/write_transaction.h"
#include "lmdb/liblmdb.h"

namespace wafstate {

namespace {

// Address space beyond the cap. A transaction is counted after each record, so one record may overshoot
// before it is rolled back, and another process with a larger cap may be ahead of FollowGrowth.
std::uint64_t Slack(std::uint64_t map_size) {
  constexpr std::uint64_t kLeastSlack = std::uint64_t{128} << 20;
  return std::max(kLeastSlack, map_size / 4);
}

std::atomic<unsigned> fork_epoch{0};

unsigned CurrentForkEpoch() {
  // Once a process, whichever thread comes first. Asking getpid() on every load would cost more than the
  // load.
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_epoch.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return fork_epoch.load(std::memory_order_relaxed);
}

}  // namespace

Environment::Environment(EnvironmentOptions options)
    : options_(std::move(options)), fork_epoch_(CurrentForkEpoch()) {}

Environment::~Environment() {
  // In a forked child the reader slots and locks are the parent's: leave everything as it is.
  if (IsForked()) {
    static_cast<void>(gate_.release());
    return;
  }
  if (env_ != nullptr) wafstate_env_close(env_);
}

bool Environment::IsForked() const {
  return fork_epoch.load(std::memory_order_relaxed) != fork_epoch_;
}

Fault Environment::Open(const EnvironmentOptions& options, std::unique_ptr<Environment>& environment) {
  std::unique_ptr<Environment> opened(new Environment(options));
  if (const Fault fault = Gate::Open({.directory = options.path + kGateDirectory,
                                      .max_readers = options.max_readers,
                                      .mode = options.mode,
                                      .wait_milliseconds = options.wait_milliseconds},
                                     opened->gate_)) {
    return fault;
  }
  Gate::Pass pass;
  if (const Fault fault = opened->gate_->Enter(pass)) return fault;
  if (const Fault fault = opened->OpenBehindGate(pass)) return fault;
  environment = std::move(opened);
  return {};
}

Fault Environment::OpenBehindGate(const Gate::Pass& pass) {
  int code = mdb_env_create(&env_);
  if (code != 0) return FaultOf(code, "create");
  code = mdb_env_set_mapsize(env_, options_.map_size + Slack(options_.map_size));
  if (code == 0) code = mdb_env_set_maxreaders(env_, options_.max_readers);
  // The lmdb package opens with MDB_NOTLS too; it lets a transaction's reader slot move between threads.
  unsigned flags = MDB_NOTLS;
  if (options_.relaxed) flags |= MDB_NOSYNC;
  if (options_.read_only) flags |= MDB_RDONLY;
  if (code == 0) code = mdb_env_open(env_, options_.path.c_str(), flags, options_.mode);
  if (code == ENOENT) return {.failure = Failure::kAbsent, .step = "open", .code = code};
  if (code != 0) return FaultOf(code, "open");
  MDB_stat stat;
  code = mdb_env_stat(env_, &stat);
  if (code != 0) return FaultOf(code, "stat");
  budget_ = PageBudget(options_.map_size, stat.ms_psize);
  return CheckNote(pass);
}

Fault Environment::CheckNote(const Gate::Pass& pass) {
  if (options_.read_only) {
    MDB_txn* txn = nullptr;
    if (const Fault fault = BeginRead(&txn)) return fault;
    MDB_val key = ToValue(kEnvironmentKey);
    MDB_val value;
    MDB_stat stat{};
    int got = mdb_dbi_open(txn, nullptr, 0, &records_);
    if (got == 0) got = mdb_stat(txn, records_, &stat);
    if (got == 0) got = mdb_get(txn, records_, &key, &value);
    Fault fault;
    if (got == 0) {
      fault = CompareNote(FromValue(value));
    } else if (got != MDB_NOTFOUND) {
      fault = FaultOf(got, "read the environment's note");
    } else {
      fault.failure = stat.ms_entries == 0 ? Failure::kAbsent : Failure::kForeign;
      fault.step = "read the environment's note";
    }
    mdb_txn_abort(txn);
    return fault;
  }

  WriteTransaction transaction(*this, pass);
  if (const Fault fault = transaction.Begin()) return fault;
  int code = mdb_dbi_open(transaction.txn(), nullptr, 0, &records_);
  if (code != 0) return FaultOf(code, "open the database");
  Bytes note;
  bool found = false;
  if (const Fault fault = transaction.Get(kEnvironmentKey, note, found)) return fault;
  if (found) return CompareNote(note);
  MDB_stat stat;
  code = mdb_stat(transaction.txn(), records_, &stat);
  if (code != 0) return FaultOf(code, "stat");
  if (stat.ms_entries != 0) return {.failure = Failure::kForeign, .step = "read the environment's note"};
  const std::uint8_t fresh[] = {'W', 'E', kEnvironmentFormat, options_.relaxed ? kRelaxed : kDurable};
  if (const Fault fault = transaction.Put(kEnvironmentKey, fresh)) return fault;
  if (const Fault fault = transaction.Commit()) return fault;
  return Sync();
}

Fault Environment::CompareNote(Bytes note) const {
  constexpr const char* kStep = "read the environment's note";
  if (note.size() != 4 || note[0] != 'W' || note[1] != 'E')
    return {.failure = Failure::kForeign, .step = kStep};
  if (note[2] != kEnvironmentFormat) {
    return {
        .failure = Failure::kFormatVersion, .step = kStep, .limit = kEnvironmentFormat, .actual = note[2]};
  }
  const std::uint8_t wanted = options_.relaxed ? kRelaxed : kDurable;
  if (note[3] != wanted) {
    return {.failure = Failure::kDurabilityMismatch, .step = kStep, .limit = wanted, .actual = note[3]};
  }
  return {};
}

Fault Environment::CompareOptions(const EnvironmentOptions& options) const {
  const auto differs = [](int code, std::uint64_t wanted, std::uint64_t actual) {
    return Fault{.failure = Failure::kOptionMismatch,
                 .step = "share the environment",
                 .code = code,
                 .limit = wanted,
                 .actual = actual};
  };
  if (options.map_size != options_.map_size) return differs(1, options.map_size, options_.map_size);
  if (options.relaxed != options_.relaxed) return differs(2, options.relaxed, options_.relaxed);
  if (options.max_readers != options_.max_readers)
    return differs(3, options.max_readers, options_.max_readers);
  // A reader may share an environment that is open for writing, not the other way round.
  if (options_.read_only && !options.read_only) return differs(4, 0, 1);
  return {};
}

Fault Environment::BeginRead(MDB_txn** txn) {
  wafstate_wait_at_most(options_.wait_milliseconds);
  int code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, txn);
  // Dead processes leave their slots behind; a second try after clearing them is worth it, a third is not.
  if (code == MDB_READERS_FULL) {
    int dead = 0;
    code = mdb_reader_check(env_, &dead);
    if (code == 0) code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, txn);
  }
  if (code == 0) return {};
  Fault fault = FaultOf(code, "begin reading");
  fault.limit = options_.max_readers;
  return fault;
}

void Environment::FollowGrowth() {
  const std::uint64_t slack = Slack(options_.map_size);
  const auto is_near = [&](std::uint64_t& file) {
    MDB_envinfo info;
    mdb_env_info(env_, &info);
    file = (info.me_last_pgno + 1) * budget_.page_bytes();
    return file + slack / 2 > info.me_mapsize;
  };
  std::uint64_t file = 0;
  {
    // Not while another thread remaps: mdb.c then shows the new size before it has the new map, and a
    // transaction that begins between the two would remap once more.
    const std::shared_lock lock(growth_mutex_);
    if (!is_near(file)) return;
  }
  const std::lock_guard lock(growth_mutex_);
  // Where it fails, LMDB tries again within the transaction and reports what it can.
  if (is_near(file)) static_cast<void>(mdb_env_set_mapsize(env_, 2 * file + slack));
}

Fault Environment::Sync() {
  if (IsForked()) return {.failure = Failure::kForked, .step = "sync"};
  if (options_.read_only) return {.failure = Failure::kReadOnly, .step = "sync"};
  const int code = mdb_env_sync(env_, 1);
  return code == 0 ? Fault{} : FaultOf(code, "sync");
}

}  // namespace wafstate
