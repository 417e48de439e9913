// One LMDB environment of this process, shared by all its threads.
//
// A process must not open an environment twice: closing either copy drops the POSIX locks of both. So
// environments are found by device and inode of their directory, counted, and closed with the last reference.
// A fork inherits nothing that it could use: there every call answers kForked.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "core/bytes.h"
#include "core/environment_fault.h"
#include "core/gate.h"
#include "core/page_budget.h"
#include "core/reply_keeper.h"

namespace wafstate {

struct EnvironmentOptions {
  std::string path;
  // Hard cap on the data file, bytes.
  std::uint64_t map_size = 0;
  unsigned max_readers = 0;
  // Permissions of files that LMDB makes.
  unsigned mode = 0;
  // The longest wait for a lock that another process holds; then the answer is kTimedOut. 0 = without end.
  unsigned wait_milliseconds = 0;
  bool relaxed = false;
  bool read_only = false;
};

class Environment {
 public:
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  [[nodiscard]] MDB_env* env() const { return env_; }
  [[nodiscard]] MDB_dbi records() const { return records_; }
  [[nodiscard]] Gate& gate() { return *gate_; }
  [[nodiscard]] ReplyKeeper& replies() { return replies_; }
  [[nodiscard]] const EnvironmentOptions& options() const { return options_; }
  [[nodiscard]] const PageBudget& budget() const { return budget_; }

  // Whether the process was forked after opening.
  [[nodiscard]] bool IsForked() const;

  // Maps more where another process, with a larger cap, has let the file grow. LMDB would do it by itself,
  // but not safely in two threads at once. Call before every transaction. REQUIRES: not in a transaction of
  // this thread.
  void FollowGrowth();

  // Begins a read transaction, which takes a slot of the reader table.
  Fault BeginRead(MDB_txn** txn);

  // Flushes to disk what was committed so far. Blocks.
  Fault Sync();

 private:
  friend class EnvironmentReference;
  explicit Environment(EnvironmentOptions options);
  static Fault Open(const EnvironmentOptions& options, std::unique_ptr<Environment>& environment);
  Fault OpenBehindGate(const Gate::Pass& pass);
  Fault CheckNote(const Gate::Pass& pass);
  Fault CompareNote(Bytes note) const;
  [[nodiscard]] Fault CompareOptions(const EnvironmentOptions& options) const;

  const EnvironmentOptions options_;
  const unsigned fork_epoch_;
  std::unique_ptr<Gate> gate_;
  MDB_env* env_ = nullptr;
  MDB_dbi records_ = 0;
  PageBudget budget_;
  ReplyKeeper replies_;
  std::shared_mutex growth_mutex_;
};

// Counts as one user of an environment, from Open to Close or the end of its life.
class EnvironmentReference {
 public:
  EnvironmentReference() = default;
  ~EnvironmentReference() { Close(); }
  EnvironmentReference(const EnvironmentReference&) = delete;
  EnvironmentReference& operator=(const EnvironmentReference&) = delete;

  // Opens, or shares what the process has open. Waits for the gate where it opens. REQUIRES: not open.
  Fault Open(const EnvironmentOptions& options);
  void Close();
  // Whether this process has the directory's environment open.
  [[nodiscard]] static bool IsOpen(const std::string& path);

  [[nodiscard]] Environment& operator*() const { return *environment_; }
  [[nodiscard]] Environment* operator->() const { return environment_; }
  [[nodiscard]] Environment* get() const { return environment_; }

 private:
  struct Slot;
  friend struct EnvironmentRegistry;
  std::shared_ptr<Slot> slot_;
  Environment* environment_ = nullptr;
};

}  // namespace wafstate
