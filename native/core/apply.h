// One write on one record: docs/format.md, "Applying a batch to a record".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/patcher.h"
#include "core/record.h"
#include "core/reply.h"
#include "core/request.h"

namespace wafstate {

// Keeps its working memory from call to call; one a thread.
//
// Counters go through the patcher. How the rest works, for V variables and M mutations in O(V + M log M),
// whatever their order and names: the mutations are sorted by name into slots, one a distinct name. One walk
// checks the existing record and lays its variables into the slots they belong to. The mutations then run in
// their own order, each on its slot. At the end everything between two slots is copied as the run of bytes
// that it is.
class Applier {
 public:
  explicit Applier(Seal seal = Seal::kChecksum) : seal_(seal), patcher_(seal) {}

  // Appends the new record to `record` (nothing where it ends removed) and the write's result to `reply`.
  // Where the refusal's status is not kApplied, `record` is as it was and the refusal's `write` is left at 0.
  // REQUIRES: `write` is one of `request`; `record` holds no part of `existing`; `revision` was never used.
  [[nodiscard]] Refusal Apply(std::optional<Bytes> existing, const Request& request, const Write& write,
                              std::uint64_t revision, Buffer& record, ReplyWriter& reply);

 private:
  // When a slot was written, and when things happened to all of them: so that ending a record or dropping
  // what is expired costs the same for one slot as for thousands.
  using Stamp = std::uint32_t;
  static constexpr Stamp kNever = 0;
  static constexpr Stamp kStored = 1;
  static constexpr Stamp StampOf(std::size_t mutation) { return static_cast<Stamp>(mutation) + 2; }

  // A distinct name of the batch, with its variable as the mutations so far have left it.
  struct Slot {
    Variable variable;
    bool present = false;
    Stamp written = kNever;
    std::uint32_t first_mutation = 0;
    // Where among the existing variables it stands or would stand, and how many bytes it takes there.
    std::size_t offset = 0;
    std::size_t size = 0;
  };

  // The existing variables that no mutation names.
  struct Rest {
    Bytes variables;  // the slots' own among them
    std::size_t size = 0;
    std::size_t expired = 0;
    std::size_t expired_size = 0;
  };

  void SortIntoSlots(std::span<const Mutation> mutations);
  [[nodiscard]] Corruption ReadExisting(Bytes existing, const RecordName& name);
  [[nodiscard]] Refusal RunAll(std::span<const Mutation> mutations, const Request& request);
  [[nodiscard]] Refusal RunOne(const Mutation& mutation, std::size_t index, std::size_t variables_limit);
  [[nodiscard]] bool Mutate(const Mutation& mutation, Slot& slot, bool live) const;
  [[nodiscard]] Refusal FitSize(std::size_t limit, std::size_t mutation_count);
  void BeginRecord(Stamp ended_at);
  void DropExpired(Stamp before);
  [[nodiscard]] bool IsStored(const Slot& slot) const;
  [[nodiscard]] std::size_t StoredSize() const;
  void WriteRecord(const RecordName& name, std::uint64_t revision, Buffer& record) const;
  void WriteVariables(RecordWriter& writer) const;
  void WriteResult(bool existed, std::uint64_t revision, ReplyWriter& reply) const;

  Seal seal_;
  Patcher patcher_;

  std::vector<Slot> slots_;             // in byte order of their names
  std::vector<std::uint32_t> by_name_;  // mutations of variables
  std::vector<std::uint32_t> slot_of_;  // by mutation; 0 where it is one of the record

  std::int64_t now_ = 0;
  std::optional<std::int64_t> new_timeout_;
  RecordFacts facts_;
  std::uint64_t revision_ = 0;
  Rest rest_;
  // Stored variables, in slots or not, and those of them that are expired.
  std::size_t count_ = 0;
  std::size_t expired_ = 0;
  std::size_t size_before_ = 0;
  bool removed_ = false;
  // What slots held when the record was ended is gone; what they held of expired variables when those were
  // dropped is too.
  Stamp ended_at_ = kNever;
  Stamp dropped_at_ = kNever;
};

}  // namespace wafstate
