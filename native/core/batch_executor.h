// A whole batch against any store of records: what the shared table and LMDB have in common.
//
//   executor.Begin(batch);                 reads every request, finds the distinct records
//   executor.Execute(source);              request by request; again after Refuse(), from the beginning
//   for (change : executor.changes()) …    put or delete, in byte order of the keys, each key once
//   executor.reply()                       one answer a request
//
// A request sees what those before it in the batch have done. One that fails leaves no trace, and its
// neighbours alone: its writes are staged aside and taken over together once the last has succeeded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/apply.h"
#include "core/bytes.h"
#include "core/reply.h"
#include "core/request.h"

namespace wafstate {

// What an engine lends to an execution.
class RecordSource {
 public:
  struct ReadResult {
    std::optional<Bytes> record;
    // Other than kApplied: the record cannot be read. Every request that needs it gets this refusal.
    Refusal failure;
  };

  // The stored record under a key of docs/format.md, at most once a key and execution. The bytes must stay as
  // they are until the last use of changes(), or until the engine stores that key's own change.
  [[nodiscard]] virtual ReadResult Read(Bytes key) = 0;
  // A revision that was never given before: see NextRevision in core/revision.h.
  [[nodiscard]] virtual std::uint64_t TakeRevision() = 0;

 protected:
  ~RecordSource() = default;
};

// What a batch does to one stored record.
struct Change {
  Bytes key;
  // nullopt: delete it.
  std::optional<Bytes> record;
  // Bytes that the store has under the key now; 0 = none.
  std::size_t stored_bytes;
};

// Keeps its memory from batch to batch; one a thread.
class BatchExecutor {
 public:
  // Forgets the batch before. `batch` must stay as it is until the next Begin.
  void Begin(Bytes batch);

  [[nodiscard]] std::size_t request_count() const { return requests_.size(); }
  // The distinct record keys that the sound requests name, in byte order: for an engine that locks before it
  // reads.
  [[nodiscard]] std::size_t key_count() const { return used_entries_; }
  [[nodiscard]] Bytes key(std::size_t index) const { return KeyOf(entries_[index]); }

  // From now on the request is answered with this and not executed: for what only the engine knows, such as a
  // full map. Malformed ones keep their own answer.
  void Refuse(std::size_t request, const Refusal& refusal);
  void RefuseAll(const Refusal& refusal);

  // Executes every request that is not refused, against what `source` has now. Everything of an earlier
  // execution is forgotten, so an engine may abort its transaction, refuse some requests, and execute again.
  void Execute(RecordSource& source);

  // Whether the last execution applied the request, and by how many bytes the records it wrote became longer
  // (those it created or removed with all their bytes): what to refuse first when space runs out.
  [[nodiscard]] bool applied(std::size_t request) const { return requests_[request].applied; }
  [[nodiscard]] std::int64_t growth(std::size_t request) const { return requests_[request].growth; }

  // In byte order of the keys, each once. Valid until the next Execute or Begin.
  [[nodiscard]] std::span<const Change> changes() const { return changes_; }
  // One answer for every request, also where all were refused without an execution. Valid as changes().
  [[nodiscard]] Bytes reply();

 private:
  struct PlannedRequest {
    Bytes bytes;
    // Its writes, in planned_writes_.
    std::size_t first_write = 0;
    std::size_t write_count = 0;
    Refusal refusal;
    bool applied = false;
    std::int64_t growth = 0;
  };

  // One write of one request, and the record it names.
  struct PlannedWrite {
    std::size_t key_offset = 0;
    std::size_t key_size = 0;
    std::size_t entry = 0;
  };

  // A record as the batch has it so far.
  struct Entry {
    std::size_t key_offset = 0;
    std::size_t key_size = 0;
    std::optional<Bytes> current;
    std::size_t stored_bytes = 0;
    Refusal failure;
    bool read = false;
    bool changed = false;
    // 1 + the request that wrote it last.
    std::size_t staged_by = 0;
    Buffer buffer;
  };

  // The outcome of one write of a request that is not decided yet.
  struct Staged {
    std::size_t entry = 0;
    bool removed = false;
    Buffer record;
  };

  [[nodiscard]] Bytes KeyOf(const Entry& entry) const {
    return Bytes(keys_).subspan(entry.key_offset, entry.key_size);
  }

  Request request_;
  Applier applier_;
  std::vector<PlannedRequest> requests_;
  std::vector<PlannedWrite> writes_;
  std::vector<std::size_t> write_order_;
  std::vector<Entry> entries_;
  std::size_t used_entries_ = 0;
  std::vector<Staged> staged_;
  std::vector<Change> changes_;
  Buffer keys_;
  Buffer reply_;
};

}  // namespace wafstate
