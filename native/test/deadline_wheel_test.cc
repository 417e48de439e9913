// The wheel against a list of deadlines: nothing is due early, and nothing late by more than it may be.

#include "core/deadline_wheel.h"

#include <map>
#include <random>
#include <vector>

#include "test/check.h"

namespace {

using wafstate::Budget;
using wafstate::CellRef;
using wafstate::CellStore;
using wafstate::DeadlineWheel;
using wafstate::kNoCell;
using wafstate::PagePool;

constexpr std::int64_t kTick = 1 << 30;

struct Timed {
  std::int64_t inserted;
  std::int64_t deadline;
};

void RunAgainstList(std::uint64_t seed, int max_exponent) {
  Budget budget(1 << 30);
  PagePool pool;
  CellStore cells(budget, pool);
  DeadlineWheel wheel(cells, 0);
  std::mt19937_64 random(seed);
  std::map<CellRef, Timed> model;
  std::int64_t now = 1'700'000'000'000'000'000;
  wheel.Advance(now);
  const auto any = [&random](int exponent) {
    return static_cast<std::int64_t>(random() & ((std::uint64_t{1} << exponent) - 1));
  };
  for (int step = 0; step < 3000; ++step) {
    for (int i = 0; i < 3; ++i) {
      const CellRef ref = cells.Allocate(CellStore::ClassOf(16));
      cells.Unpin(ref);
      const std::int64_t deadline =
          now + any(static_cast<int>(random() % static_cast<unsigned>(max_exponent)));
      wheel.Insert(ref, deadline);
      model[ref] = {now, deadline};
    }
    if (random() % 2 == 0) {
      const auto victim = std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
      wheel.Remove(victim->first);
      cells.Free(victim->first);
      model.erase(victim);
    }
    now += any(static_cast<int>(random() % static_cast<unsigned>(max_exponent - 4)));
    const std::int64_t next = wheel.NextDue();
    wheel.Advance(now);
    CHECK((wheel.FirstDue() != kNoCell) == (next <= now) || wheel.FirstDue() != kNoCell);
    for (CellRef ref = wheel.FirstDue(); ref != kNoCell; ref = wheel.FirstDue()) {
      CHECK(model.contains(ref));
      CHECK(model[ref].deadline <= now);
      wheel.Remove(ref);
      cells.Free(ref);
      model.erase(ref);
    }
    for (const auto& [ref, timed] : model) {
      const std::int64_t late = kTick + (timed.deadline - timed.inserted) / 8 + kTick;
      CHECK(timed.deadline + late > now);
    }
  }
}

TEST_CASE(NothingIsDueEarlyAndLittleIsLate) {
  // Seconds, hours, and the whole reach.
  RunAgainstList(1, 34);
  RunAgainstList(2, 42);
  RunAgainstList(3, 55);
}

TEST_CASE(ADeadlineBeyondTheReachComesUpEarly) {
  Budget budget(1 << 20);
  PagePool pool;
  CellStore cells(budget, pool);
  DeadlineWheel wheel(cells, 0);
  wheel.Advance(0);
  const CellRef ref = cells.Allocate(CellStore::ClassOf(16));
  wheel.Insert(ref, INT64_MAX);
  CHECK(wheel.FirstDue() == kNoCell);
  CellRef pending = kNoCell;
  wheel.VisitPending(1, [&pending](CellRef found) { pending = found; });
  CHECK(pending == ref);
  wheel.Advance(INT64_MAX);
  CHECK(wheel.FirstDue() == ref);
}

TEST_CASE(VisitsByTheOrderOfTheSlots) {
  Budget budget(1 << 20);
  PagePool pool;
  CellStore cells(budget, pool);
  DeadlineWheel wheel(cells, 0);
  wheel.Advance(0);
  std::vector<CellRef> expected;
  for (const std::int64_t ticks : {2, 3, 100, 5000, 1'000'000}) {
    expected.push_back(cells.Allocate(CellStore::ClassOf(16)));
    wheel.Insert(expected.back(), ticks * kTick);
  }
  const auto visited = [&wheel](std::size_t most) {
    std::vector<CellRef> found;
    wheel.VisitPending(most, [&found](CellRef ref) { found.push_back(ref); });
    return found;
  };
  CHECK(visited(10) == expected);
  expected.resize(3);
  CHECK(visited(3) == expected);
}

TEST_CASE(WhatWasLookedAtIsNotDueAgainAtOnce) {
  Budget budget(1 << 20);
  PagePool pool;
  CellStore cells(budget, pool);
  DeadlineWheel wheel(cells, 0);
  wheel.Advance(100 * kTick);
  const CellRef ref = cells.Allocate(CellStore::ClassOf(16));
  wheel.InsertAgain(ref, 50 * kTick);
  CHECK(wheel.FirstDue() == kNoCell);
  wheel.ComeUp(50 * kTick);
  CHECK(wheel.FirstDue() == ref);
}

TEST_CASE(TimeDoesNotGoBack) {
  Budget budget(1 << 20);
  PagePool pool;
  CellStore cells(budget, pool);
  DeadlineWheel wheel(cells, 0);
  wheel.Advance(100 * kTick);
  wheel.Advance(-5);
  const CellRef ref = cells.Allocate(CellStore::ClassOf(16));
  wheel.Insert(ref, 50 * kTick);
  CHECK(wheel.FirstDue() == ref);
}

}  // namespace

TEST_MAIN("deadline_wheel_test")
