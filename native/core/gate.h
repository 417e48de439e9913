// The gate of an environment: a second LMDB environment that stays empty, whose write lock is held by whoever
// opens the first one or writes to it.
//
// Why: opening an environment sets the shared "last transaction" from the data file without the write lock
// (ITS#9496), so that an open beside a commit undoes what was acknowledged. With the gate no open meets a
// commit. The lock is LMDB's robust mutex: it passes on when its holder is killed, and costs less than a
// microsecond. The gate itself is opened without one, which harms nothing: it has no commits.
//
// Order: gate first, then the environment's own write lock.
#pragma once

#include <lmdb.h>

#include <memory>
#include <string>

#include "core/environment_fault.h"

namespace wafstate {

struct GateOptions {
  std::string directory;
  unsigned max_readers = 0;
  unsigned mode = 0;
  // See EnvironmentOptions.
  unsigned wait_milliseconds = 0;
};

class Gate {
 public:
  // Held from Enter to the end of its life, on one thread.
  class Pass {
   public:
    Pass() = default;
    ~Pass() {
      if (txn_ != nullptr) mdb_txn_abort(txn_);
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    friend class Gate;
    MDB_txn* txn_ = nullptr;
  };

  // REQUIRES: the directory exists, and its files are those of an LMDB environment or absent.
  static Fault Open(const GateOptions& options, std::unique_ptr<Gate>& gate);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Waits for whoever is inside, and answers kTimedOut where that takes too long. What the thread does inside
  // has the same patience with the environment's own locks.
  Fault Enter(Pass& pass);

 private:
  Gate(MDB_env* env, unsigned wait_milliseconds) : env_(env), wait_milliseconds_(wait_milliseconds) {}
  MDB_env* const env_;
  const unsigned wait_milliseconds_;
};

}  // namespace wafstate
