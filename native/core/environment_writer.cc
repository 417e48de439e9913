#include "core/environment_writer.h"

#include "core/revision.h"

namespace wafstate {

namespace {

Refusal RefusalOf(const Fault& fault) {
  if (fault.failure == Failure::kTimedOut) return {.status = Status::kNotExecuted};
  const bool disk = fault.failure == Failure::kDisk;
  return {.status = disk ? Status::kDiskFull : Status::kEngineError,
          .actual = static_cast<std::uint64_t>(fault.code)};
}

}  // namespace

// The records as the transaction has them. All reads of an execution come before its writes, so what LMDB
// returned stays.
class EnvironmentWriter::Source final : public RecordSource {
 public:
  Source(WriteTransaction& transaction, std::uint64_t revision)
      : transaction_(transaction), revision_(revision) {}

  ReadResult Read(Bytes key) override {
    Bytes stored;
    bool found = false;
    if (const Fault fault = transaction_.Get(key, stored, found))
      return {.record = {}, .failure = RefusalOf(fault)};
    return {.record = found ? std::optional(stored) : std::nullopt, .failure = {}};
  }

  std::uint64_t TakeRevision() override { return revision_ = NextRevision(revision_); }

  [[nodiscard]] std::uint64_t revision() const { return revision_; }

 private:
  WriteTransaction& transaction_;
  std::uint64_t revision_;
};

Fault EnvironmentWriter::Execute(std::uint64_t writer, std::uint64_t sequence, Bytes batch, Bytes& reply) {
  if (environment_.IsForked()) return {.failure = Failure::kForked, .step = "execute"};
  if (environment_.options().read_only) return {.failure = Failure::kReadOnly, .step = "execute"};
  environment_.replies().Begin(writer, sequence);
  Run(batch);
  reply = executor_.reply();
  environment_.replies().End(writer, reply);
  return {};
}

void EnvironmentWriter::Run(Bytes batch) {
  executor_.Begin(batch);
  Gate::Pass pass;
  if (const Fault fault = environment_.gate().Enter(pass)) return executor_.RefuseAll(RefusalOf(fault));
  WriteTransaction transaction(environment_, pass);
  Admission admission = Admission::kAll;
  for (bool fits = false; !fits;) {
    const Fault fault = Attempt(transaction, admission);
    fits = fault.failure != Failure::kMapFull;
    if (fits && fault) return executor_.RefuseAll(RefusalOf(fault));
    if (!fits) Narrow(admission);
  }
}

Fault EnvironmentWriter::Attempt(WriteTransaction& transaction, Admission admission) {
  constexpr Fault kDoesNotFit = {.failure = Failure::kMapFull, .step = "execute"};
  transaction.Abort();
  if (const Fault fault = transaction.Begin()) return fault;
  std::uint64_t revision = 0;
  if (const Fault fault = transaction.GetRevision(revision)) return fault;
  Source source(transaction, revision);
  executor_.Execute(source);
  // A request that was refused may make a later one the first to write a record, which then grows in its
  // stead.
  constexpr int kMaxRounds = 8;
  for (int round = 0; admission != Admission::kAll && RefuseUnadmitted(admission); ++round) {
    if (round == kMaxRounds) return kDoesNotFit;
    executor_.Execute(source);
  }
  if (!executor_.gave_revisions() && executor_.changes().empty()) return {};

  const PageUse use = admission == Admission::kAll        ? PageUse::kGrowth
                      : admission == Admission::kNoGrowth ? PageUse::kSteady
                                                          : PageUse::kRemoval;
  if (const Fault fault = transaction.PutRevision(source.revision())) return fault;
  for (const Change& change : executor_.changes()) {
    const Fault fault =
        change.record ? transaction.Put(change.key, *change.record) : transaction.Remove(change.key);
    if (fault) return fault;
    // Counted after each, so that a batch overshoots by one record at most before it is rolled back.
    if (!transaction.Fits(use)) return kDoesNotFit;
  }
  return transaction.Commit();
}

void EnvironmentWriter::Narrow(Admission& admission) {
  if (admission == Admission::kAll || admission == Admission::kNoGrowth) {
    admission = admission == Admission::kAll ? Admission::kNoGrowth : Admission::kRemovals;
    // Where there is nothing to refuse, the next attempt has a larger budget all the same.
    static_cast<void>(RefuseUnadmitted(admission));
    return;
  }
  // Removals that are scattered over more pages than the reserve has: fewer of them fit.
  admission = Admission::kSomeRemovals;
  std::size_t applied = 0;
  for (std::size_t i = 0; i < executor_.request_count(); ++i)
    applied += executor_.applied(i) ? 1 : 0;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < executor_.request_count(); ++i) {
    if (executor_.applied(i) && ++kept > applied / 2) executor_.Refuse(i, MapFull());
  }
}

Refusal EnvironmentWriter::MapFull() const {
  return {.status = Status::kMapFull, .limit = environment_.options().map_size};
}

bool EnvironmentWriter::RefuseUnadmitted(Admission admission) {
  const std::int64_t most = admission == Admission::kNoGrowth ? 0 : -1;
  bool refused = false;
  for (std::size_t i = 0; i < executor_.request_count(); ++i) {
    if (!executor_.applied(i) || executor_.growth(i) <= most) continue;
    executor_.Refuse(i, MapFull());
    refused = true;
  }
  return refused;
}

Fault EnvironmentWriter::Delete(Bytes key, bool& existed) {
  existed = false;
  if (environment_.IsForked()) return {.failure = Failure::kForked, .step = "delete"};
  if (environment_.options().read_only) return {.failure = Failure::kReadOnly, .step = "delete"};
  Gate::Pass pass;
  if (const Fault fault = environment_.gate().Enter(pass)) return fault;
  WriteTransaction transaction(environment_, pass);
  if (const Fault fault = transaction.Begin()) return fault;
  Bytes stored;
  if (const Fault fault = transaction.Get(key, stored, existed)) return fault;
  if (!existed) return {};
  if (const Fault fault = transaction.Remove(key)) return fault;
  if (!transaction.Fits(PageUse::kRemoval)) {
    return {.failure = Failure::kMapFull, .step = "delete", .limit = environment_.options().map_size};
  }
  return transaction.Commit();
}

}  // namespace wafstate
