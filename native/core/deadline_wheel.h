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
  // REQUIRES: the cell is in the wheel, due or not.
  void Remove(CellRef ref);
  void Moved(CellRef to) { lists_.Moved(to); }

  // Whether a cell with this deadline would be due at once.
  [[nodiscard]] bool IsOver(std::int64_t deadline) const { return (deadline >> kTickBits) < tick_; }

  // Time never goes back here: an earlier `now` than the latest changes nothing. Constant time.
  void Advance(std::int64_t now);

  // As Advance, and makes due what would be so late only because its slot is coarse: every deadline up to
  // `now`, and some beyond, which whoever puts them in again puts into a finer slot. So a cell comes up early
  // at most once a level.
  void ComeUp(std::int64_t now);

  // The cell that has been due longest, or kNoCell.
  [[nodiscard]] CellRef FirstDue() const { return lists_.IsEmpty(kDue) ? kNoCell : lists_.First(kDue); }
  // Puts the first of the due ones behind the others.
  void RotateDue();

  // The first cell of the slot that comes up next, and its followers there; kNoCell at the end.
  [[nodiscard]] CellRef FirstPending() const;
  [[nodiscard]] CellRef NextPending(CellRef ref);

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
  // The occupied slot that comes up next; list kDue where there is none.
  [[nodiscard]] Slot NextSlot() const;

  CellLists lists_;
  // A bit a slot that is not empty.
  std::array<std::uint64_t, kLevels> occupied_{};
  // Slots up to this one have come up.
  std::int64_t tick_ = INT64_MIN >> kTickBits;
};

}  // namespace wafstate
