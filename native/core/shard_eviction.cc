// Who goes when a shard has no room: the ranks of core/table_shard.h. Every choice looks at a bounded number
// of records.
#include "core/table_shard.h"

namespace wafstate {

namespace {

// Records looked at for one that has ended, second chances given before the next best is taken, and held
// records compared of those that are due and of those that are not.
constexpr int kProbes = 16;

}  // namespace

bool TableShard::EvictUnheld(std::int64_t now, EvictionCounts& counts) {
  const CellRef ended = FindEnded(now);
  if (ended != kNoCell) {
    Evict(ended, Evicted::kEnded, counts);
    return true;
  }
  if (!bounds_.evicts) return false;
  const CellRef once = OldestOf(Rank::kOnce);
  if (once != kNoCell) {
    Evict(once, Evicted::kSeenOnce, counts);
    return true;
  }
  const CellRef again = LeastRecentlyUsed();
  if (again == kNoCell) return false;
  Evict(again, Evicted::kLeastRecentlyUsed, counts);
  return true;
}

// A table full of nothing but held records still gives up one: to refuse would let whoever fills it with
// blocks decide that no other address is counted any more.
Room TableShard::EvictOne(std::int64_t now, bool last_resort, EvictionCounts& counts) {
  if (EvictUnheld(now, counts)) return Room::kMade;
  if (!last_resort && OthersMayEvict(now)) return Room::kElsewhere;
  if (!bounds_.evicts) return Room::kNone;
  CellRef victim = OldestOf(Rank::kHeldOnce);
  if (victim == kNoCell) victim = EndsFirst();
  if (victim == kNoCell) return Room::kNone;
  Evict(victim, Evicted::kHeld, counts);
  return Room::kMade;
}

void TableShard::Evict(CellRef ref, Evicted kind, EvictionCounts& counts) {
  ++counts[static_cast<std::size_t>(kind)];
  Remove(ref, HashOf(ref));
}

bool TableShard::OthersMayEvict(std::int64_t now) const {
  for (std::size_t i = 0; i < kMaxShards; ++i) {
    if (i != number_ && bounds_.evictable_from[i].load(std::memory_order_relaxed) <= now) return true;
  }
  return false;
}

// Those that came up and have not ended either have a later deadline by now, or are only partly expired and
// wait for cleanup.
CellRef TableShard::FindEnded(std::int64_t now) {
  for (int i = 0; i < kProbes; ++i) {
    const CellRef ref = wheel_.FirstDue();
    if (ref == kNoCell) return kNoCell;
    const RecordDeadlines deadlines = DeadlinesOf(Record(ref));
    if (deadlines.end <= now && At(ref).busy == 0) return ref;
    const Rank rank = RankOf(At(ref));
    if (rank >= Rank::kHeldOnce && deadlines.longest <= now) {
      SetRank(ref, rank == Rank::kHeld ? Rank::kAgain : Rank::kOnce);
    }
    if (wheel_.IsOver(deadlines.next)) {
      wheel_.RotateDue();
    } else {
      Unschedule(ref);
      Schedule(ref, deadlines.next);
    }
  }
  return kNoCell;
}

CellRef TableShard::OldestOf(Rank rank) {
  const auto queue = static_cast<std::size_t>(rank);
  CellRef ref = queues_.First(queue);
  for (std::size_t i = 0; i <= busy_ && !CellLists::IsHead(ref); ++i, ref = queues_.Next(ref)) {
    if (At(ref).busy == 0) return ref;
  }
  return kNoCell;
}

CellRef TableShard::LeastRecentlyUsed() {
  const auto queue = static_cast<std::size_t>(Rank::kAgain);
  for (int i = 0; i < kProbes; ++i) {
    const CellRef ref = OldestOf(Rank::kAgain);
    if (ref == kNoCell || At(ref).referenced == 0) return ref;
    At(ref).referenced = 0;
    queues_.Remove(ref);
    queues_.PushBack(queue, ref);
  }
  return OldestOf(Rank::kAgain);
}

CellRef TableShard::EndsFirst() {
  CellRef best = kNoCell;
  std::int64_t best_end = INT64_MAX;
  const auto look_at = [this, &best, &best_end](CellRef ref) {
    if (At(ref).busy != 0) return;
    const std::int64_t end = DeadlinesOf(Record(ref)).end;
    if (best != kNoCell && end >= best_end) return;
    best = ref;
    best_end = end;
  };
  // The busy ones are those of one commit, and may be all that come first.
  wheel_.VisitDue(kProbes + busy_, look_at);
  wheel_.VisitPending(kProbes + busy_, look_at);
  return best;
}

}  // namespace wafstate
