#include "core/write_transaction.h"

#include <utility>

#include "lmdb/liblmdb.h"

namespace wafstate {

Fault WriteTransaction::Begin() {
  environment_.FollowGrowth();
  const int code = mdb_txn_begin(environment_.env(), nullptr, 0, &txn_);
  if (code != 0) {
    txn_ = nullptr;
    return FaultOf(code, "begin");
  }
  pages_at_begin_ = wafstate_txn_pages(txn_);
  wafstate_cap_writes(environment_.budget().CapBytes(pages_at_begin_));
  return {};
}

Fault WriteTransaction::Commit() {
  CloseCursor();
  // Frees the transaction also where it fails.
  const int code = wafstate_cause(mdb_txn_commit(std::exchange(txn_, nullptr)));
  wafstate_cap_writes(0);
  // MDB_EMPTY_TXN is this liblmdb's way to say that there was nothing to write.
  return code == 0 || code == MDB_EMPTY_TXN ? Fault{} : FaultOf(code, "commit");
}

void WriteTransaction::Abort() {
  if (txn_ == nullptr) return;
  CloseCursor();
  mdb_txn_abort(std::exchange(txn_, nullptr));
  wafstate_cap_writes(0);
}

// Not in Begin: the first transaction of an environment opens the database.
Fault WriteTransaction::OpenCursor() {
  if (cursor_ != nullptr) return {};
  const int code = mdb_cursor_open(txn_, environment_.records(), &cursor_);
  if (code == 0) return {};
  cursor_ = nullptr;
  return FaultOf(code, "open a cursor");
}

void WriteTransaction::CloseCursor() {
  if (cursor_ != nullptr) mdb_cursor_close(std::exchange(cursor_, nullptr));
}

Fault WriteTransaction::Get(Bytes key, Bytes& value, bool& found) {
  found = false;
  if (const Fault fault = OpenCursor()) return fault;
  MDB_val lmdb_key = ToValue(key);
  MDB_val lmdb_value;
  const int code = mdb_cursor_get(cursor_, &lmdb_key, &lmdb_value, MDB_SET);
  found = code == 0;
  if (found) value = FromValue(lmdb_value);
  return code == 0 || code == MDB_NOTFOUND ? Fault{} : FaultOf(code, "get");
}

Fault WriteTransaction::Put(Bytes key, Bytes value) {
  if (const Fault fault = OpenCursor()) return fault;
  MDB_val lmdb_key = ToValue(key);
  MDB_val lmdb_value = ToValue(value);
  // Spills pages where a transaction has touched many, so it may fail as a commit does.
  const int code = mdb_cursor_put(cursor_, &lmdb_key, &lmdb_value, 0);
  return code == 0 ? Fault{} : FaultOf(wafstate_cause(code), "put");
}

Fault WriteTransaction::Remove(Bytes key) {
  Bytes stored;
  bool found = false;
  if (const Fault fault = Get(key, stored, found)) return fault;
  if (!found) return {};
  const int code = mdb_cursor_del(cursor_, 0);
  return code == 0 ? Fault{} : FaultOf(wafstate_cause(code), "delete");
}

Fault WriteTransaction::GetRevision(std::uint64_t& revision) {
  Bytes stored;
  bool found = false;
  if (const Fault fault = Get(kRevisionKey, stored, found)) return fault;
  if (found && stored.size() != sizeof revision) return FaultOf(MDB_CORRUPTED, "read the last revision");
  revision = found ? Load<std::uint64_t>(stored.data()) : 0;
  return {};
}

Fault WriteTransaction::PutRevision(std::uint64_t revision) {
  std::uint8_t bytes[sizeof revision];
  Store(bytes, revision);
  return Put(kRevisionKey, bytes);
}

bool WriteTransaction::Fits(PageUse use) const {
  const PageBudget& budget = environment_.budget();
  const std::uint64_t file_pages = wafstate_txn_pages(txn_);
  if (file_pages <= budget.Limit(use)) return true;
  // The file may be longer from before, and still have room inside.
  if (file_pages > pages_at_begin_) {
    return use == PageUse::kRemoval && budget.IsBeyondCap(UsedPages()) &&
           file_pages <= pages_at_begin_ + budget.removal_step();
  }
  return use != PageUse::kGrowth || UsedPages() <= budget.Limit(use);
}

std::uint64_t WriteTransaction::UsedPages() const {
  constexpr std::uint64_t kMetaPages = 2;
  std::uint64_t pages = kMetaPages;
  for (const MDB_dbi dbi : {kFreeListDatabase, environment_.records()}) {
    MDB_stat stat{};
    // Both are open in every transaction, so this cannot fail.
    static_cast<void>(mdb_stat(txn_, dbi, &stat));
    pages += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
  }
  return pages;
}

}  // namespace wafstate
