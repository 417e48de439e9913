// Batches of requests, each from begin to commit in one call.
#pragma once

#include "core/batch_executor.h"
#include "core/environment.h"
#include "core/write_transaction.h"

namespace wafstate {

// Keeps its memory from batch to batch; one a thread.
class EnvironmentWriter {
 public:
  // REQUIRES: the environment outlives the writer.
  explicit EnvironmentWriter(Environment& environment) : environment_(environment) {}

  // Executes a batch (docs/format.md) in one transaction, and answers every request; `reply` is valid until
  // the next call. Requests for which the map has no room are answered kMapFull and the others go on:
  // core/page_budget.h tells in which order. A transaction that fails leaves no trace, and every request is
  // answered with its cause. The reply is also kept under `writer` and `sequence` for other threads.
  Fault Execute(std::uint64_t writer, std::uint64_t sequence, Bytes batch, Bytes& reply);

  // Removes what stands under a record's key, corrupt or not.
  Fault Delete(Bytes key, bool& existed);

 private:
  class Source;

  // What a full map still lets through, from all to less and less.
  enum class Admission : std::uint8_t { kAll, kNoGrowth, kRemovals, kSomeRemovals };

  void Run(Bytes batch);
  // kMapFull: it has to be narrowed.
  Fault Attempt(WriteTransaction& transaction, Admission admission);
  // Refuses at least one request that was applied; where none is left, nothing grows.
  void Narrow(Admission& admission);
  [[nodiscard]] bool RefuseUnadmitted(Admission admission);
  [[nodiscard]] Refusal MapFull() const;

  Environment& environment_;
  BatchExecutor executor_;
};

}  // namespace wafstate
