// A whole batch against any store of records: what the shared table and LMDB have in common.
//
//   executor.Begin(batch);                 reads every request, finds the distinct records
//   executor.Execute(source);              request by request; again after Refuse(), from the beginning
//   for (change : executor.changes()) ...  put or delete, in byte order of the keys, each key once
//   executor.reply()                       one answer a request
//
// A request sees what those before it in the batch have done. One that fails leaves no trace, and its
// neighbours alone: its writes are staged aside and taken over together once the last has succeeded. A
// request that names a record twice is malformed.
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
    Refusal failure{};
  };

  // The stored record under a key of docs/format.md; asked at most once a key and execution. The bytes must
  // stay as they are until Execute returns.
  [[nodiscard]] virtual ReadResult Read(Bytes key) = 0;
  // A revision that was never given before: see NextRevision in core/revision.h. Not every one taken is used.
  [[nodiscard]] virtual std::uint64_t TakeRevision() = 0;

 protected:
  RecordSource() = default;
  RecordSource(const RecordSource&) = default;
  RecordSource& operator=(const RecordSource&) = default;
  ~RecordSource() = default;
};

// What a batch does to one stored record.
struct Change {
  Bytes key;
  // In the executor's memory; nullopt: delete it.
  std::optional<Bytes> record;
  // Bytes that the store has under the key now; 0 = none.
  std::size_t stored_bytes = 0;
};

// Keeps its memory from batch to batch; one a thread.
class BatchExecutor {
 public:
  // Forgets the batch before. `batch` must stay as it is until the last use of this one.
  void Begin(Bytes batch);

  [[nodiscard]] std::size_t request_count() const { return requests_.size(); }
  // The distinct keys that the sound requests name, in byte order: for an engine that locks before it reads.
  [[nodiscard]] std::size_t key_count() const { return key_count_; }
  [[nodiscard]] Bytes key(std::size_t index) const { return KeyOf(entries_[index]); }

  // The next Execute answers the request with this and does nothing for it: for what only the engine knows,
  // such as a full map. A malformed request keeps its own answer.
  void Refuse(std::size_t request, const Refusal& refusal);
  // Answers every request with this, at once: for a batch that could not be committed or was never begun.
  // There are no changes then.
  void RefuseAll(const Refusal& refusal);

  // Executes every request that is not refused, on what `source` has now. All of an earlier execution is
  // forgotten, so an engine may abort its transaction, refuse some requests, and execute again.
  void Execute(RecordSource& source);

  // Whether the last execution applied the request, and by how many bytes all the records that it wrote
  // became longer: what to refuse first when space runs out.
  [[nodiscard]] bool applied(std::size_t request) const { return requests_[request].applied; }
  [[nodiscard]] std::int64_t growth(std::size_t request) const { return requests_[request].growth; }

  // Whether an answer of the last execution names a revision. The last one must be stored then, also where
  // nothing changed: of a record that came and went within the batch somebody knows it all the same.
  [[nodiscard]] bool gave_revisions() const { return gave_revisions_; }

  // In byte order of the keys, each once. Valid until the next Execute, RefuseAll or Begin.
  [[nodiscard]] std::span<const Change> changes() const { return changes_; }
  // One answer for every request, of the last Execute or RefuseAll. Valid as changes().
  [[nodiscard]] Bytes reply() const { return reply_; }

 private:
  struct PlannedRequest {
    Bytes bytes;
    // Its writes are those from here on.
    std::size_t first_write = 0;
    Refusal refusal{};
    bool applied = false;
    std::int64_t growth = 0;
  };

  // One write of one request, and the record it names.
  struct PlannedWrite {
    std::size_t request = 0;
    std::size_t key_offset = 0;
    std::size_t key_size = 0;
    std::size_t entry = 0;
  };

  // A record as the batch has it so far.
  struct Entry {
    std::size_t key_offset = 0;
    std::size_t key_size = 0;
    bool read = false;
    bool changed = false;
    Refusal failure{};
    std::size_t stored_bytes = 0;
    // In the source's memory, or in `buffer` once it has changed.
    std::optional<Bytes> current;
    Buffer buffer;
  };

  // The outcome of one write of a request that is not decided yet.
  struct Staged {
    bool removed = false;
    Buffer record;
  };

  void Plan(std::size_t request);
  void FindEntries();
  void Parse(std::size_t request);
  [[nodiscard]] Refusal ExecuteRequest(std::size_t request, RecordSource& source, ReplyWriter& reply);
  [[nodiscard]] const Refusal& Read(Entry& entry, RecordSource& source) const;
  void Publish(PlannedRequest& planned, std::size_t write_count);
  void CollectChanges();
  [[nodiscard]] Bytes KeyOf(const Entry& entry) const {
    return Bytes(keys_).subspan(entry.key_offset, entry.key_size);
  }

  Applier applier_;
  Request request_;
  std::size_t parsed_ = 0;  // which one `request_` holds
  std::vector<PlannedRequest> requests_;
  std::vector<PlannedWrite> writes_;
  std::vector<std::size_t> by_key_;
  // Those beyond key_count_, and those of `staged_`, are kept for their buffers.
  std::vector<Entry> entries_;
  std::size_t key_count_ = 0;
  std::vector<Staged> staged_;
  std::vector<Change> changes_;
  bool gave_revisions_ = false;
  Buffer keys_;
  Buffer reply_;
};

}  // namespace wafstate
