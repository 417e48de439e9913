// A write transaction on an environment, rolled back unless it is committed.
#pragma once

#include "core/environment.h"
#include "core/environment_layout.h"

namespace wafstate {

class WriteTransaction {
 public:
  // The pass is the proof that the gate was entered first.
  WriteTransaction(Environment& environment, const Gate::Pass& /*pass*/) : environment_(environment) {}
  ~WriteTransaction() { Abort(); }
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  Fault Begin();
  Fault Commit();
  void Abort();

  // All of these go through one cursor, which descends from the root only where the key is not on the page it
  // is at: calls in order of the keys cost about half of those in any other.

  // `found` is false where there is none; the bytes stay as they are until the transaction ends or stores
  // that key.
  Fault Get(Bytes key, Bytes& value, bool& found);
  Fault Put(Bytes key, Bytes value);
  // Removing what is not there is no fault.
  Fault Remove(Bytes key);

  // The last revision given out; 0 at the beginning.
  Fault GetRevision(std::uint64_t& revision);
  Fault PutRevision(std::uint64_t revision);

  // Whether the file stays within the budget if the transaction is committed now. Where the list of free
  // pages then takes more than was reserved for it, Commit fails with kMapFull.
  [[nodiscard]] bool Fits(PageUse use) const;

  [[nodiscard]] MDB_txn* txn() const { return txn_; }

 private:
  Fault OpenCursor();
  void CloseCursor();
  [[nodiscard]] std::uint64_t UsedPages() const;

  Environment& environment_;
  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  std::uint64_t pages_at_begin_ = 0;
};

}  // namespace wafstate
