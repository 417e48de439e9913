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
  return {};
}

Fault WriteTransaction::Commit() {
  // Frees the transaction also where it fails.
  const int code = mdb_txn_commit(std::exchange(txn_, nullptr));
  // MDB_EMPTY_TXN is this liblmdb's way to say that there was nothing to write.
  return code == 0 || code == MDB_EMPTY_TXN ? Fault{} : FaultOf(code, "commit");
}

void WriteTransaction::Abort() {
  if (txn_ != nullptr) mdb_txn_abort(std::exchange(txn_, nullptr));
}

Fault WriteTransaction::Get(Bytes key, Bytes& value, bool& found) {
  MDB_val lmdb_key = ToValue(key);
  MDB_val lmdb_value;
  const int code = mdb_get(txn_, environment_.records(), &lmdb_key, &lmdb_value);
  found = code == 0;
  if (found) value = FromValue(lmdb_value);
  return code == 0 || code == MDB_NOTFOUND ? Fault{} : FaultOf(code, "get");
}

Fault WriteTransaction::Put(Bytes key, Bytes value) {
  MDB_val lmdb_key = ToValue(key);
  MDB_val lmdb_value = ToValue(value);
  const int code = mdb_put(txn_, environment_.records(), &lmdb_key, &lmdb_value, 0);
  return code == 0 ? Fault{} : FaultOf(code, "put");
}

Fault WriteTransaction::Remove(Bytes key) {
  MDB_val lmdb_key = ToValue(key);
  const int code = mdb_del(txn_, environment_.records(), &lmdb_key, nullptr);
  return code == 0 || code == MDB_NOTFOUND ? Fault{} : FaultOf(code, "delete");
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
  return wafstate_txn_pages(txn_) <= environment_.budget().Limit(use, pages_at_begin_);
}

}  // namespace wafstate
