// Which cells have a deadline that is over, in time proportional to how many have.
//
// A timing wheel (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987) in the form that Linux
// gave it in version 4.8: eight levels of 64 slots, each level eight times as coarse as the one below, and
// nothing moves from level to level.
//
//   level    0      1      2      3       4       5        6         7
//   slot     1 s    9 s    69 s   9 min   73 min  9.8 h    3.3 d     26 d
//   reach    69 s   9 min  73 min 9.8 h   3.3 d   26 d     208 d     4.6 a
//
// (A second here is 2^30 ns.) So a cell is due at its deadline or later, by at most one second plus an eighth
// of the time that was left when it was put in. Deadlines beyond the reach come up early: who finds one due
// looks at the deadline itself, and puts it in again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/cell_lists.h"

namespace wafstate {

class DeadlineWheel {
 public:
  // Heap memory of a wheel.
  static constexpr std::size_t kHeadBytes = (8 * 64 + 1) * sizeof(CellLinks);

  // `offset` is where in a cell its links for the wheel are.
  DeadlineWheel(CellStore& cells, std::size_t offset) : lists_(cells, offset, kLevels * kSlots + 1) {}

  // Nanoseconds. REQUIRES: the cell is not in the wheel.
  void Insert(CellRef ref, std::int64_t deadline);
  // The same for one that was looked at and is not over by its owner's clock: comes up again with the next
  // ComeUp, and not before, also where this clock is ahead of that one.
  void InsertAgain(CellRef ref, std::int64_t deadline) {
    Insert(ref, std::max(deadline, tick_ << kTickBits));
  }
  // REQUIRES: the cell is in the wheel, due or not.
  void Remove(CellRef ref);
  void Moved(CellRef to) { lists_.Moved(to); }

  // Whether a cell with this deadline would be due at once.
  [[nodiscard]] bool IsOver(std::int64_t deadline) const { return (deadline >> kTickBits) < tick_; }

  // Time never goes back here: an earlier `now` than the latest changes nothing. Constant time. False where
  // no slot came up.
  bool Advance(std::int64_t now);

  // As Advance, and makes due what would be so late only because its slot is coarse: every deadline up to
  // `now`, and some beyond, which whoever puts them in again puts into a finer slot. So a cell comes up early
  // at most once a level.
  void ComeUp(std::int64_t now);

  // The cell that has been due longest, or kNoCell.
  [[nodiscard]] CellRef FirstDue() const { return lists_.IsEmpty(kDue) ? kNoCell : lists_.First(kDue); }
  // Puts the first of the due ones behind the others.
  void RotateDue();

  // Calls `visit` with `most` cells at most, those first that have been due longest.
  template <typename Visit>
  void VisitDue(std::size_t most, const Visit& visit) {
    VisitList(kDue, most, visit);
  }
  // The same for those that are not due yet, in the order in which their slots come up.
  template <typename Visit>
  void VisitPending(std::size_t most, const Visit& visit) {
    Occupied left = occupied_;
    for (Slot slot = NextSlot(left); slot.list != kDue && most > 0; slot = NextSlot(left)) {
      most = VisitList(slot.list, most, visit);
      left[slot.list >> kSlotBits] &= ~(std::uint64_t{1} << (slot.list & (kSlots - 1)));
    }
  }

  // Nanoseconds: no cell that is not due yet becomes due before; INT64_MAX where there is none.
  [[nodiscard]] std::int64_t NextDue() const;

 private:
  static constexpr int kTickBits = 30;
  static constexpr int kLevelBits = 3;
  static constexpr int kSlotBits = 6;
  static constexpr std::int64_t kSlots = 1 << kSlotBits;
  static constexpr std::int64_t kLevels = 8;
  static constexpr std::size_t kDue = kLevels * kSlots;

  struct Slot {
    std::size_t list;
    std::int64_t tick;
  };
  // A bit a slot that is not empty.
  using Occupied = std::array<std::uint64_t, kLevels>;
  // The slot of these that comes up next; list kDue where there is none.
  [[nodiscard]] Slot NextSlot(const Occupied& occupied) const;

  // How many more may be visited.
  template <typename Visit>
  std::size_t VisitList(std::size_t list, std::size_t most, const Visit& visit) {
    for (CellRef ref = lists_.First(list); most > 0 && !CellLists::IsHead(ref); ref = lists_.Next(ref)) {
      visit(ref);
      --most;
    }
    return most;
  }

  CellLists lists_;
  Occupied occupied_{};
  // Slots up to this one have come up.
  std::int64_t tick_ = INT64_MIN >> kTickBits;
};

}  // namespace wafstate
