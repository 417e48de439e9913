#include "core/environment_restore.h"

#include "core/checksum.h"
#include "core/environment_layout.h"
#include "core/record_key.h"
#include "core/revision.h"
#include "core/write_transaction.h"

namespace wafstate {

namespace {

// Of docs/format.md.
constexpr std::size_t kRevisionOffset = 8;

Fault Corrupted(Corruption corruption) {
  return {.failure = Failure::kCorrupt, .step = "restore", .code = static_cast<int>(corruption)};
}

// The record with another revision; the same length.
Buffer WithRevision(Bytes record, std::uint64_t revision) {
  Buffer copy(record.begin(), record.end());
  Store(copy.data() + kRevisionOffset, revision);
  const std::size_t body = copy.size() - sizeof(std::uint32_t);
  Store(copy.data() + body, Checksum(Bytes(copy).first(body)));
  return copy;
}

bool IsTaken(Bytes key, Bytes stored, std::int64_t now) {
  RecordView view;
  return OpenStored(key, stored, view) != Corruption::kNone || !view.facts().IsTimedOut(now);
}

class Restorer {
 public:
  Restorer(WriteTransaction& transaction, RestoreConflict conflict, std::int64_t now)
      : transaction_(transaction), conflict_(conflict), now_(now) {}

  // Stops at the first conflict, where conflicts fail.
  Fault Run(Bytes records, RestoreResult& result) {
    if (const Fault fault = transaction_.GetRevision(revision_)) return fault;
    ByteReader reader(records);
    while (reader.remaining() > 0 && !result.conflict) {
      std::uint32_t size = 0;
      Bytes record;
      if (!reader.Read(size) || !reader.Read(size, record)) return Corrupted(Corruption::kTruncated);
      if (const Fault fault = RestoreOne(record, result)) return fault;
    }
    return transaction_.PutRevision(revision_);
  }

 private:
  Fault RestoreOne(Bytes record, RestoreResult& result) {
    RecordView view;
    const Corruption corruption = view.Open(record);
    if (corruption != Corruption::kNone) return Corrupted(corruption);
    key_.clear();
    AppendRecordKey(key_, view.name());
    Bytes stored;
    bool found = false;
    if (const Fault fault = transaction_.Get(key_, stored, found)) return fault;
    if (found && conflict_ != RestoreConflict::kReplace && IsTaken(key_, stored, now_)) {
      result.conflict = conflict_ == RestoreConflict::kFail;
      ++result.skipped;
      return {};
    }
    revision_ = NextRevision(revision_);
    if (revision_ > kMaxRevision) {
      return {.failure = Failure::kMapFull, .step = "take a revision", .limit = kMaxRevision};
    }
    ++result.restored;
    return transaction_.Put(key_, WithRevision(record, revision_));
  }

  WriteTransaction& transaction_;
  const RestoreConflict conflict_;
  const std::int64_t now_;
  std::uint64_t revision_ = 0;
  Buffer key_;
};

}  // namespace

Fault RestoreRecords(Environment& environment, Bytes records, RestoreConflict conflict, std::int64_t now,
                     RestoreResult& result) {
  result = {};
  if (environment.IsForked()) return {.failure = Failure::kForked, .step = "restore"};
  if (environment.options().read_only) return {.failure = Failure::kReadOnly, .step = "restore"};
  Gate::Pass pass;
  if (const Fault fault = environment.gate().Enter(pass)) return fault;
  WriteTransaction transaction(environment, pass);
  if (const Fault fault = transaction.Begin()) return fault;
  Restorer restorer(transaction, conflict, now);
  if (const Fault fault = restorer.Run(records, result)) return fault;
  if (result.conflict) {
    result.restored = 0;
    return {};
  }
  if (!transaction.Fits(PageUse::kGrowth)) {
    return {.failure = Failure::kMapFull, .step = "restore", .limit = environment.options().map_size};
  }
  return transaction.Commit();
}

}  // namespace wafstate
