#include "core/environment_sweep.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "core/environment_layout.h"
#include "core/revision.h"
#include "core/sweep.h"
#include "core/write_transaction.h"

namespace wafstate {

namespace {

// What becomes of one record. Found first and done afterwards: LMDB's pages move under a cursor that writes.
struct Sentence {
  Buffer key;
  // Empty: the record goes.
  Buffer record;
};

class Sweeper {
 public:
  Sweeper(WriteTransaction& transaction, MDB_dbi records, std::int64_t now)
      : transaction_(transaction), records_(records), now_(now) {}

  Fault Run(const SweepBudget& budget, EnvironmentSweepResult& result);

 private:
  Fault Examine(const SweepBudget& budget, EnvironmentSweepResult& result);
  // False where the record has more variables than are left of the budget: then it was not looked at.
  [[nodiscard]] bool Judge(Bytes key, Bytes stored, EnvironmentSweepResult& result, std::size_t& variables);
  Fault Execute(const EnvironmentSweepResult& result);

  WriteTransaction& transaction_;
  const MDB_dbi records_;
  const std::int64_t now_;
  std::uint64_t revision_ = 0;
  // Where the last sweep stopped, empty at the beginning; then where this one does.
  Buffer cursor_;
  std::vector<Sentence> sentences_;
};

Fault Sweeper::Run(const SweepBudget& budget, EnvironmentSweepResult& result) {
  Bytes cursor;
  bool found = false;
  if (const Fault fault = transaction_.Get(kCursorKey, cursor, found)) return fault;
  if (found) cursor_.assign(cursor.begin(), cursor.end());
  if (const Fault fault = transaction_.GetRevision(revision_)) return fault;
  if (const Fault fault = Examine(budget, result)) return fault;
  return Execute(result);
}

Fault Sweeper::Examine(const SweepBudget& budget, EnvironmentSweepResult& result) {
  MDB_cursor* cursor = nullptr;
  int code = mdb_cursor_open(transaction_.txn(), records_, &cursor);
  if (code != 0) return FaultOf(code, "open a cursor");
  MDB_val key = ToValue(cursor_.empty() ? Bytes(kFirstRecordKey) : Bytes(cursor_));
  MDB_val value;
  code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  if (code == 0 && Equal(FromValue(key), cursor_)) code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  std::size_t variables = budget.variables;
  Bytes last;
  while (code == 0 && result.records_examined < budget.records &&
         Judge(FromValue(key), FromValue(value), result, variables)) {
    last = FromValue(key);
    code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  mdb_cursor_close(cursor);
  if (code != 0 && code != MDB_NOTFOUND) return FaultOf(code, "sweep");
  result.wrapped = code == MDB_NOTFOUND;
  if (result.wrapped) {
    cursor_.clear();
  } else {
    cursor_.assign(last.begin(), last.end());
  }
  return {};
}

bool Sweeper::Judge(Bytes key, Bytes stored, EnvironmentSweepResult& result, std::size_t& variables) {
  const std::uint64_t revision = NextRevision(revision_);
  Buffer swept;
  const SweepResult swept_record = Sweep(stored, now_, revision, swept);
  // A record is never split, and one is always looked at.
  if (swept_record.variables_examined > variables && result.records_examined > 0) return false;
  variables -= std::min(variables, swept_record.variables_examined);
  ++result.records_examined;
  const bool rewritten = swept_record.outcome == SweepOutcome::kRewritten;
  if (swept_record.outcome == SweepOutcome::kUnchanged) return true;
  // Revisions used up: the record waits for its end as it is, since two states under one revision would be
  // worse.
  if (rewritten && revision > kMaxRevision) return true;
  if (rewritten) revision_ = revision;
  result.records_removed += rewritten ? 0 : 1;
  result.variables_removed += swept_record.variables_removed;
  sentences_.push_back({.key = {key.begin(), key.end()}, .record = std::move(swept)});
  return true;
}

Fault Sweeper::Execute(const EnvironmentSweepResult& result) {
  for (const Sentence& sentence : sentences_) {
    const Fault fault = sentence.record.empty() ? transaction_.Remove(sentence.key)
                                                : transaction_.Put(sentence.key, sentence.record);
    if (fault) return fault;
  }
  if (!sentences_.empty()) {
    if (const Fault fault = transaction_.PutRevision(revision_)) return fault;
  }
  return result.wrapped ? transaction_.Remove(kCursorKey) : transaction_.Put(kCursorKey, cursor_);
}

Fault ClaimSweep(WriteTransaction& transaction, std::int64_t interval, bool& claimed) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const std::int64_t clock =
      duration_cast<nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  Bytes stored;
  bool found = false;
  if (const Fault fault = transaction.Get(kSweepKey, stored, found)) return fault;
  if (found && stored.size() == sizeof clock) {
    const auto began = Load<std::int64_t>(stored.data());
    // A time to come is a clock that was set back since: it would stop all sweeps until then.
    claimed = began > clock || clock - began >= interval;
    if (!claimed) return {};
  }
  claimed = true;
  std::uint8_t bytes[sizeof clock];
  Store(bytes, clock);
  return transaction.Put(kSweepKey, bytes);
}

Fault Attempt(WriteTransaction& transaction, const Environment& environment, std::int64_t now,
              const SweepBudget& budget, std::int64_t interval, EnvironmentSweepResult& result) {
  result = {};
  transaction.Abort();
  if (const Fault fault = transaction.Begin()) return fault;
  if (interval > 0) {
    bool claimed = false;
    if (const Fault fault = ClaimSweep(transaction, interval, claimed)) return fault;
    result.skipped = !claimed;
    if (result.skipped) return {};
  }
  Sweeper sweeper(transaction, environment.records(), now);
  if (const Fault fault = sweeper.Run(budget, result)) return fault;
  if (!transaction.Fits(PageUse::kRemoval)) {
    return {.failure = Failure::kMapFull, .step = "sweep", .limit = environment.options().map_size};
  }
  return transaction.Commit();
}

}  // namespace

Fault SweepEnvironment(Environment& environment, std::int64_t now, const SweepBudget& budget,
                       std::int64_t interval, EnvironmentSweepResult& result) {
  result = {};
  if (environment.IsForked()) return {.failure = Failure::kForked, .step = "sweep"};
  if (environment.options().read_only) return {.failure = Failure::kReadOnly, .step = "sweep"};
  Gate::Pass pass;
  if (const Fault fault = environment.gate().Enter(pass)) return fault;
  WriteTransaction transaction(environment, pass);
  // What is removed is scattered; where the reserve has no room for so many pages, fewer records have to do.
  for (SweepBudget attempt = budget;; attempt.records /= 2) {
    const Fault fault = Attempt(transaction, environment, now, attempt, interval, result);
    if (fault.failure != Failure::kMapFull || attempt.records <= 1) return fault;
  }
}

}  // namespace wafstate
