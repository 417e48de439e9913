#include "core/deadline_wheel.h"

#include <algorithm>
#include <bit>

namespace wafstate {

void DeadlineWheel::Insert(CellRef ref, std::int64_t deadline) {
  // The tick after the deadline's: when that begins, the deadline is over.
  const std::int64_t due = (deadline >> kTickBits) + 1;
  if (due <= tick_) {
    lists_.PushBack(kDue, ref);
    return;
  }
  for (std::int64_t level = 0; level < kLevels; ++level) {
    const std::int64_t shift = level * kLevelBits;
    const std::int64_t base = tick_ >> shift;
    // Rounded up: not before it is over.
    std::int64_t slot = ((due - 1) >> shift) + 1;
    if (slot - base >= kSlots) {
      if (level + 1 < kLevels) continue;
      slot = base + kSlots - 1;
    }
    const std::int64_t bit = slot & (kSlots - 1);
    occupied_[static_cast<std::size_t>(level)] |= std::uint64_t{1} << bit;
    lists_.PushBack(static_cast<std::size_t>(level * kSlots + bit), ref);
    return;
  }
}

void DeadlineWheel::Remove(CellRef ref) {
  const CellRef emptied = lists_.Remove(ref);
  if (emptied == kNoCell || emptied == kFirstHead + kDue) return;
  const std::size_t list = emptied - kFirstHead;
  occupied_[list >> kSlotBits] &= ~(std::uint64_t{1} << (list & (kSlots - 1)));
}

bool DeadlineWheel::Advance(std::int64_t now) {
  const std::int64_t tick = now >> kTickBits;
  if (tick <= tick_) return false;
  for (std::int64_t level = 0; level < kLevels; ++level) {
    const std::int64_t shift = level * kLevelBits;
    const std::int64_t from = tick_ >> shift;
    const std::int64_t to = tick >> shift;
    // Where this level stands still, so do the coarser ones.
    if (from == to) break;
    std::uint64_t& occupied = occupied_[static_cast<std::size_t>(level)];
    const std::int64_t steps = std::min(to - from, kSlots);
    // The slots that come up, as the lowest bits of a mask that is turned to where they begin.
    const std::uint64_t passed = steps == kSlots ? ~std::uint64_t{0} : (std::uint64_t{1} << steps) - 1;
    const int start = static_cast<int>((from + 1) & (kSlots - 1));
    for (std::uint64_t due = std::rotr(occupied, start) & passed; due != 0; due &= due - 1) {
      const std::size_t slot = static_cast<std::size_t>(start + std::countr_zero(due)) & (kSlots - 1);
      lists_.Append(kDue, static_cast<std::size_t>(level) * kSlots + slot);
    }
    occupied &= ~std::rotl(passed, start);
  }
  tick_ = tick;
  return true;
}

void DeadlineWheel::ComeUp(std::int64_t now) {
  Advance(now);
  for (std::int64_t level = 0; level < kLevels; ++level) {
    const std::int64_t slot = ((tick_ >> (level * kLevelBits)) + 1) & (kSlots - 1);
    lists_.Append(kDue, static_cast<std::size_t>(level * kSlots + slot));
    occupied_[static_cast<std::size_t>(level)] &= ~(std::uint64_t{1} << slot);
  }
}

void DeadlineWheel::RotateDue() {
  const CellRef first = lists_.First(kDue);
  lists_.Remove(first);
  lists_.PushBack(kDue, first);
}

std::int64_t DeadlineWheel::NextDue() const {
  const Slot slot = NextSlot(occupied_);
  // A slot beyond the last time there is was only rounded up to it.
  return slot.tick > INT64_MAX >> kTickBits ? INT64_MAX : slot.tick << kTickBits;
}

DeadlineWheel::Slot DeadlineWheel::NextSlot(const Occupied& occupied) const {
  Slot next{.list = kDue, .tick = INT64_MAX};
  for (std::int64_t level = 0; level < kLevels; ++level) {
    const std::uint64_t slots = occupied[static_cast<std::size_t>(level)];
    if (slots == 0) continue;
    const std::int64_t shift = level * kLevelBits;
    const std::int64_t first = (tick_ >> shift) + 1;
    const int start = static_cast<int>(first & (kSlots - 1));
    const int ahead = std::countr_zero(std::rotr(slots, start));
    const std::int64_t tick = (first + ahead) << shift;
    if (tick >= next.tick) continue;
    next.tick = tick;
    next.list = static_cast<std::size_t>(level * kSlots + ((start + ahead) & (kSlots - 1)));
  }
  return next;
}

}  // namespace wafstate
