// The commonest commit, without writing a record anew: a counter that is there already counts on, its
// deadline stands or moves, and every byte of the record stays where it is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/in_place.h"
#include "core/record.h"
#include "core/reply.h"
#include "core/request.h"

namespace wafstate {

// One write on one record that can be made in place, worked out before anything is changed, so that several
// are made together or not at all.
//
// Held to `Applier` by tests: where Plan gives true, both leave the same bytes and the same answer.
class RecordPatch {
 public:
  // False where the write may be refused or would move a byte: then Applier does it. True only for additions,
  // subtractions and deadlines on integers that are there and live, in a record that is not timed out.
  // REQUIRES: the record is sound, without regard to its seal, and named as the write's.
  [[nodiscard]] bool Plan(std::span<std::uint8_t> record, const Request& request, const Write& write);

  // REQUIRES: Plan gave true, and the record is where it was.
  void Publish(std::uint64_t revision, std::int64_t now, ReplyWriter& reply) const;
  // Whether Publish moves a deadline of the record, its timeout included.
  [[nodiscard]] bool moves_deadlines() const { return moves_deadlines_; }

 private:
  // A touched variable, as the mutations so far leave it.
  struct Slot {
    Bytes name;
    std::uint8_t* deadline_at;
    std::uint8_t* integer_at;
    InPlaceVariable variable;
    std::uint16_t first_mutation;
  };
  // Beyond, sorting beats looking at each.
  static constexpr std::size_t kMaxSlots = 4;
  static constexpr std::size_t kMaxMutations = 8;
  static constexpr std::size_t kMaxVariables = 16;

  [[nodiscard]] InPlaceVariable* VariableOf(Bytes name, std::uint16_t mutation);
  [[nodiscard]] bool Find(Bytes name, Slot& slot) const;

  std::uint8_t* header_ = nullptr;
  std::uint8_t* variables_ = nullptr;
  std::size_t variable_count_ = 0;
  std::array<Slot, kMaxSlots> slots_;
  std::size_t slot_count_ = 0;
  bool moves_deadlines_ = false;
};

}  // namespace wafstate
