// One write on one record: docs/format.md, "Applying a batch to a record".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/record.h"
#include "core/reply.h"
#include "core/request.h"

namespace wafstate {

// Keeps its working memory from call to call; one a thread.
//
// How it works, for V variables and M mutations in O(V + M log M), whatever their order and names: the
// mutations are sorted by name into slots, one a distinct name. One walk checks the existing record and lays
// its variables into the slots they belong to. The mutations then run in their own order, each on its slot.
// At the end everything between two slots is copied as the run of bytes that it is.
class Applier {
 public:
  // Appends the new record to `record` (nothing where it ends removed) and the write's result to `reply`.
  // Where the refusal's status is not kApplied both may hold a part, which the caller drops. REQUIRES:
  // `write` is one of `request`; `record` does not overlap `existing`; `revision` is unused so far.
  [[nodiscard]] Refusal Apply(std::optional<Bytes> existing, const Request& request, const Write& write,
                              std::uint64_t revision, Buffer& record, ReplyWriter& reply);

 private:
  // A distinct name of the batch, with its variable as it is after the mutations so far.
  struct Slot {
    Variable variable;
    bool present = false;
    std::uint32_t first_mutation = 0;
    // 1 + the mutation that wrote it last; 0 = as in the existing record.
    std::uint32_t written = 0;
    // Where the existing record has the variable, or would have it, within its variables.
    std::size_t offset = 0;
    std::size_t encoded_bytes = 0;
  };

  // What is stored outside the slots.
  struct Rest {
    std::size_t count = 0;
    std::size_t bytes = 0;
    std::size_t expired_count = 0;
    std::size_t expired_bytes = 0;
  };

  void SortIntoSlots(std::span<const Mutation> mutations);
  [[nodiscard]] Corruption ReadExisting(Bytes existing, const RecordName& name);
  [[nodiscard]] Refusal Check(const Write& write) const;
  [[nodiscard]] Refusal Run(const Request& request, const Write& write);
  [[nodiscard]] Refusal RunOnVariable(const Mutation& mutation, std::uint32_t index, std::size_t limit);
  [[nodiscard]] Refusal FitSize(std::size_t limit, std::uint32_t mutation_count);
  void Begin(const Write& write);
  void End();
  void DropExpired(std::uint32_t before);
  [[nodiscard]] bool IsStored(const Slot& slot) const;
  [[nodiscard]] std::size_t StoredBytes() const;
  void WriteRecord(const RecordName& name, std::uint64_t revision, Buffer& record) const;
  void WriteVariables(class RecordWriter& writer) const;
  void WriteResult(bool existed, std::uint64_t revision, ReplyWriter& reply) const;

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> slot_of_;
};

}  // namespace wafstate
