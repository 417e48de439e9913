#include "core/table_shard.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "core/integer.h"
#include "core/record_layout.h"
#include "core/sweep.h"

namespace wafstate {

namespace {

// Where in a cell its links are, and where a record or the number of its block begins: as Entry has them.
constexpr std::size_t kQueueOffset = 8;
constexpr std::size_t kWheelOffset = 16;
// How long a record that could not be made smaller for want of memory is left alone.
constexpr std::int64_t kRetryRewrite = 60'000'000'000;

bool IsLong(const RecordDeadlines& deadlines, std::int64_t now) {
  return deadlines.longest > SaturatingAdd(now, TableShard::kLongDeadline);
}

}  // namespace

TableShard::TableShard(TableBounds& bounds, std::size_t number)
    : bounds_(bounds),
      number_(number),
      cells_(bounds.bytes, bounds.pages),
      index_(cells_, bounds.bytes, bounds.pages),
      queues_(cells_, kQueueOffset, kQueues),
      wheel_(cells_, kWheelOffset) {
  static_assert(offsetof(Entry, chain) == 0);
  static_assert(offsetof(Entry, queue) == kQueueOffset);
  static_assert(offsetof(Entry, wheel) == kWheelOffset);
}

std::uint64_t TableShard::FixedCost() {
  return sizeof(TableShard) + DeadlineWheel::kHeadBytes;
}

CellRef TableShard::Find(Bytes key, std::uint64_t hash) {
  for (CellRef ref = index_.First(hash); ref != kNoCell; ref = index_.Next(ref)) {
    // The record is wanted next, if this is the one; the bytes after its first ones are another cache miss.
    constexpr std::size_t kCacheLine = 64;
    __builtin_prefetch(cells_.At(ref) + kCacheLine);
    if (At(ref).hash != static_cast<std::uint32_t>(hash)) continue;
    const std::uint8_t* record = RecordAt(ref);
    if (record[kSpaceAt] != key[0] || record[kApplicationIdLengthAt] != key[1]) continue;
    const std::size_t name = VariablesOffset(record) - NameOffset(record);
    if (name + 2 == key.size() && std::memcmp(record + NameOffset(record), key.data() + 2, name) == 0)
      return ref;
  }
  return kNoCell;
}

Bytes TableShard::Record(CellRef ref) {
  return {RecordAt(ref), At(ref).size};
}

void TableShard::Touch(CellRef ref) {
  Entry& entry = At(ref);
  switch (RankOf(entry)) {
    case Rank::kOnce:
      SetRank(ref, Rank::kAgain);
      break;
    case Rank::kAgain:
      entry.referenced = 1;
      break;
    case Rank::kHeldOnce:
      SetRank(ref, Rank::kHeld);
      break;
    case Rank::kHeld:
      break;
  }
}

void TableShard::SetBusy(CellRef ref, bool busy) {
  Entry& entry = At(ref);
  if ((entry.busy != 0) == busy) return;
  entry.busy = busy ? 1 : 0;
  busy_ += busy ? 1 : std::size_t{0} - 1;
}

bool TableShard::StaysInPlace(CellRef ref, std::size_t record_bytes) {
  const std::size_t present = At(ref).size;
  if (IsInline(record_bytes) != IsInline(present)) return false;
  return IsInline(present) ? CellClass(record_bytes) == cells_.SizeClass(ref) : record_bytes == present;
}

Room TableShard::TakeRecord(std::int64_t now, bool last_resort, EvictionCounts& counts) {
  while (!bounds_.records.Take(1)) {
    const Room room = EvictOne(now, last_resort, counts);
    if (room != Room::kMade) return room;
  }
  return Room::kMade;
}

Room TableShard::Allocate(std::size_t record_bytes, std::int64_t now, bool last_resort,
                          EvictionCounts& counts, CellRef& cell, std::uint64_t& needed) {
  needed = IsInline(record_bytes) ? CellStore::kPageCost : record_bytes + kBlockOverhead;
  if (record_bytes > kMaxRecordBytes || needed > MaxRecordCost()) return Room::kTooLarge;
  while (!TryAllocate(record_bytes, cell)) {
    const Room room = EvictOne(now, last_resort, counts);
    if (room != Room::kMade) return room;
  }
  return Room::kMade;
}

bool TableShard::TryAllocate(std::size_t record_bytes, CellRef& cell) {
  const bool is_inline = IsInline(record_bytes);
  const std::uint64_t block_cost = is_inline ? 0 : record_bytes + kBlockOverhead;
  if (!bounds_.bytes.Take(block_cost)) return false;
  cell = cells_.Allocate(CellClass(record_bytes));
  if (cell != kNoCell) {
    ::new (cells_.At(cell)) Entry{};
    SetSize(At(cell), record_bytes);
    if (is_inline) return true;
    const std::uint32_t block = AddBlock(record_bytes);
    if (block != kNoCell) {
      wafstate::Store(cells_.At(cell) + sizeof(Entry), block);
      return true;
    }
    cells_.Unpin(cell);
    cells_.Free(cell);
  }
  bounds_.bytes.Give(block_cost);
  return false;
}

void TableShard::Cancel(CellRef cell) {
  cells_.Unpin(cell);
  Release(cell);
}

void TableShard::Store(CellRef existing, CellRef cell, std::uint64_t hash, Bytes record, std::int64_t now) {
  const RecordDeadlines after = DeadlinesOf(record);
  if (existing == kNoCell) {
    Write(cell, record);
    At(cell).hash = static_cast<std::uint32_t>(hash);
    At(cell).wheel = {.previous = kNoCell, .next = kNoCell};
    index_.Insert(hash, cell);
    Enqueue(cell, IsLong(after, now) ? Rank::kHeldOnce : Rank::kOnce);
    Schedule(cell, after.next);
    cells_.Unpin(cell);
    index_.Grow([this](CellRef ref) { return HashOf(ref); });
    return;
  }
  const RecordDeadlines before = DeadlinesOf(Record(existing));
  CellRef at = existing;
  if (cell != kNoCell) {
    TakeOver(existing, cell, hash);
    cells_.Unpin(cell);
    at = cell;
  }
  Write(at, record);
  Rerank(at, before, after, now);
  Reschedule(at, before.next, after.next);
  if (cell != kNoCell) Release(existing);
}

void TableShard::Patch(CellRef ref, const RecordPatch& patch, std::uint64_t revision, std::int64_t now,
                       ReplyWriter& reply) {
  const RecordDeadlines before = DeadlinesOf(Record(ref));
  patch.Publish(revision, now, reply);
  if (!patch.moves_deadlines()) {
    Rerank(ref, before, before, now);
    return;
  }
  const RecordDeadlines after = DeadlinesOf(Record(ref));
  Rerank(ref, before, after, now);
  Reschedule(ref, before.next, after.next);
}

void TableShard::Remove(CellRef ref, std::uint64_t hash) {
  const Entry& entry = At(ref);
  evictable_changed_ = true;
  if (entry.busy != 0) --busy_;
  if (RankOf(entry) != Rank::kHeld) queues_.Remove(ref);
  Unschedule(ref);
  index_.Remove(hash, ref);
  Release(ref);
  bounds_.records.Give(1);
}

bool TableShard::CleanUp(std::int64_t now, const SweepBudget& budget, SweepCounts& counts, Buffer& buffer) {
  if (cleaning_at_ != now) wheel_.ComeUp(now);
  cleaning_at_ = now;
  evictable_changed_ = true;
  for (CellRef ref = wheel_.FirstDue(); ref != kNoCell; ref = wheel_.FirstDue()) {
    const std::size_t variables = wafstate::Load<std::uint16_t>(RecordAt(ref) + kVariableCountAt);
    if (counts.records_examined >= budget.records) return false;
    if (counts.records_examined > 0 && counts.variables_examined + variables > budget.variables) return false;
    ++counts.records_examined;
    counts.variables_examined += variables;
    CleanUpOne(ref, now, counts, buffer);
  }
  cleaning_at_ = INT64_MIN;
  return true;
}

// What stays as it is, is put in again.
void TableShard::CleanUpOne(CellRef ref, std::int64_t now, SweepCounts& counts, Buffer& buffer) {
  const Bytes record = Record(ref);
  std::int64_t next = DeadlinesOf(record).next;
  if (next <= now) {
    buffer.clear();
    const SweepResult swept = wafstate::Sweep(record, now, bounds_.TakeRevision(), buffer, Seal::kNone);
    if (swept.outcome == SweepOutcome::kRemove) {
      counts.variables_removed += swept.variables_removed;
      ++counts.records_removed;
      Remove(ref, HashOf(ref));
      return;
    }
    if (swept.outcome == SweepOutcome::kRewritten && Rewrite(ref, buffer, now)) {
      counts.variables_removed += swept.variables_removed;
      return;
    }
    next = SaturatingAdd(now, kRetryRewrite);
  }
  Unschedule(ref);
  if (next != INT64_MAX) wheel_.InsertAgain(ref, next);
}

// A record that has become smaller. False where there is no memory to move it out of its block.
bool TableShard::Rewrite(CellRef ref, Bytes record, std::int64_t now) {
  CellRef cell = kNoCell;
  if (!StaysInPlace(ref, record.size()) && !TryAllocate(record.size(), cell)) {
    if (!IsInline(At(ref).size)) return false;
    cell = kNoCell;
  }
  const RecordDeadlines after = DeadlinesOf(record);
  CellRef at = ref;
  if (cell != kNoCell) {
    TakeOver(ref, cell, HashOf(ref));
    cells_.Unpin(cell);
    at = cell;
  }
  Write(at, record);
  const Rank rank = RankOf(At(at));
  if (rank >= Rank::kHeldOnce && after.longest <= now) {
    SetRank(at, rank == Rank::kHeld ? Rank::kAgain : Rank::kOnce);
  }
  Unschedule(at);
  Schedule(at, after.next);
  if (cell != kNoCell) Release(ref);
  return true;
}

std::size_t TableShard::CellClass(std::size_t record_bytes) {
  return CellStore::ClassOf(sizeof(Entry) + (IsInline(record_bytes) ? record_bytes : sizeof(std::uint32_t)));
}

std::uint8_t* TableShard::RecordAt(CellRef ref) {
  std::uint8_t* cell = cells_.At(ref);
  if (IsInline(At(ref).size)) return cell + sizeof(Entry);
  return blocks_[wafstate::Load<std::uint32_t>(cell + sizeof(Entry))].get();
}

void TableShard::Write(CellRef ref, Bytes record) {
  SetSize(At(ref), record.size());
  std::memcpy(RecordAt(ref), record.data(), record.size());
}

std::uint32_t TableShard::AddBlock(std::size_t bytes) {
  std::unique_ptr<std::uint8_t[]> block(new (std::nothrow) std::uint8_t[bytes]);
  if (block == nullptr) return kNoCell;
  if (unused_blocks_.empty()) {
    blocks_.push_back(std::move(block));
    return static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  const std::uint32_t number = unused_blocks_.back();
  unused_blocks_.pop_back();
  blocks_[number] = std::move(block);
  return number;
}

// Everything at `from` but the record, at `to`, whose size and block are its own.
void TableShard::TakeOver(CellRef from, CellRef to, std::uint64_t hash) {
  const std::size_t size = At(to).size;
  At(to) = At(from);
  SetSize(At(to), size);
  index_.Replace(hash, from, to);
  if (RankOf(At(to)) != Rank::kHeld) queues_.Moved(to);
  if (At(to).wheel.next != kNoCell) wheel_.Moved(to);
  ++moves_;
}

// Frees a cell, and the block it has, that nothing refers to any more.
void TableShard::Release(CellRef ref) {
  const std::size_t size = At(ref).size;
  if (!IsInline(size)) {
    const auto block = wafstate::Load<std::uint32_t>(cells_.At(ref) + sizeof(Entry));
    blocks_[block] = nullptr;
    unused_blocks_.push_back(block);
    bounds_.bytes.Give(size + kBlockOverhead);
  }
  const std::size_t size_class = cells_.SizeClass(ref);
  cells_.Free(ref);
  ++moves_;
  const std::optional<std::uint32_t> page = cells_.BeginEmptying(size_class);
  if (!page) return;
  // Each frees its old cell, the last one the page.
  for (CellRef from = cells_.NextTaken(*page, kNoCell); from != kNoCell;) {
    const CellRef next = cells_.NextTaken(*page, from);
    const CellRef to = cells_.Allocate(size_class);
    std::memcpy(cells_.At(to), cells_.At(from), CellStore::ClassBytes(size_class));
    TakeOver(from, to, HashOf(to));
    cells_.Unpin(to);
    cells_.Free(from);
    from = next;
  }
}

void TableShard::Enqueue(CellRef ref, Rank rank) {
  Entry& entry = At(ref);
  entry.rank = static_cast<std::uint32_t>(rank) & 7;
  entry.referenced = 0;
  evictable_changed_ = true;
  if (rank != Rank::kHeld) queues_.PushBack(static_cast<std::size_t>(rank), ref);
}

void TableShard::SetRank(CellRef ref, Rank rank) {
  const Rank present = RankOf(At(ref));
  if (present == rank) return;
  if (present != Rank::kHeld) queues_.Remove(ref);
  Enqueue(ref, rank);
}

void TableShard::Schedule(CellRef ref, std::int64_t deadline) {
  if (deadline == INT64_MAX) return;
  evictable_changed_ = true;
  wheel_.Insert(ref, deadline);
}

void TableShard::Unschedule(CellRef ref) {
  CellLinks& links = At(ref).wheel;
  if (links.next == kNoCell) return;
  evictable_changed_ = true;
  wheel_.Remove(ref);
  links = {.previous = kNoCell, .next = kNoCell};
}

void TableShard::Rerank(CellRef ref, const RecordDeadlines& before, const RecordDeadlines& after,
                        std::int64_t now) {
  const Rank rank = RankOf(At(ref));
  const bool was_held = rank == Rank::kHeldOnce || rank == Rank::kHeld;
  const bool held =
      IsLong(after, now) || (was_held && after.longest > now && after.longest == before.longest);
  if (before.end <= now) {
    // What comes back after its end is new.
    SetRank(ref, held ? Rank::kHeldOnce : Rank::kOnce);
  } else if (rank == Rank::kAgain && !held) {
    At(ref).referenced = 1;
  } else {
    SetRank(ref, held ? Rank::kHeld : Rank::kAgain);
  }
}

// A deadline that moved away leaves the record where it is: it comes up early, is looked at, and put in
// again. So a window that slides with every commit costs nothing here.
void TableShard::Reschedule(CellRef ref, std::int64_t before, std::int64_t after) {
  const bool scheduled = At(ref).wheel.next != kNoCell;
  if (scheduled && after >= before && !wheel_.IsOver(before)) return;
  Unschedule(ref);
  Schedule(ref, after);
}

void TableShard::PublishEvictable() {
  if (!evictable_changed_) return;
  evictable_changed_ = false;
  const bool now = wheel_.FirstDue() != kNoCell ||
                   (bounds_.evicts && (!queues_.IsEmpty(static_cast<std::size_t>(Rank::kOnce)) ||
                                       !queues_.IsEmpty(static_cast<std::size_t>(Rank::kAgain))));
  const std::int64_t from = now ? INT64_MIN : wheel_.NextDue();
  std::atomic<std::int64_t>& published = bounds_.evictable_from[number_];
  if (published.load(std::memory_order_relaxed) != from) published.store(from, std::memory_order_relaxed);
}

}  // namespace wafstate
