// The hot path of counters in records that come from a store and have to be checked: a write that only adds
// to integers and moves deadlines, where both are there already, changes no length. The record is copied,
// patched in place and sealed anew. Records that are known to be sound are changed where they lie:
// core/record_patch.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/in_place.h"
#include "core/record.h"
#include "core/reply.h"
#include "core/request.h"

namespace wafstate {

// Keeps its working memory from call to call; one a thread.
//
// Rules touch the same variables in the same order, request after request. So each mutation is first compared
// with the variable that the mutation at its place touched the last time, in whatever record that was; only
// where that is another one is it searched for.
class Patcher {
 public:
  explicit Patcher(Seal seal) : seal_(seal) {}

  // False where the write asks for more than this can do, or cannot be done at all: Applier then goes the
  // general way, and nothing was written. Else the new record is appended to `record` and the write's result
  // to `reply`. REQUIRES: as Applier::Apply.
  [[nodiscard]] bool Patch(Bytes existing, const Request& request, const Write& write, std::uint64_t revision,
                           Buffer& record, ReplyWriter& reply);

 private:
  // A variable of the record. Offsets are from the first one on; name and bytes lie in the existing record.
  struct Place {
    Bytes name;
    Bytes bytes;
    InPlaceVariable variable;
    std::uint32_t deadline_at = 0;
    std::uint32_t integer_at = 0;
    ValueKind kind = ValueKind::kNone;
    // Its place in `touched_`, if that says so too; anything else is left over from another write.
    std::uint32_t touched = 0;
  };
  struct Touched {
    std::uint32_t place = 0;
    std::uint16_t first_mutation = 0;
  };

  [[nodiscard]] bool ReadPlaces(const RecordView& view, std::size_t size_limit);
  [[nodiscard]] InPlaceVariable* VariableOf(Bytes name, std::size_t mutation);
  [[nodiscard]] Place* Find(Bytes name, std::uint32_t guess);
  void Store(std::uint8_t* variables) const;
  void WriteResult(std::uint64_t revision, std::int64_t now, ReplyWriter& reply) const;

  Seal seal_;
  std::vector<Place> places_;  // in byte order of their names
  std::vector<std::uint32_t> guesses_;
  std::vector<Touched> touched_;
};

}  // namespace wafstate
