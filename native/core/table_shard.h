// One shard of the shared table: records in cells, found by hash, ranked for eviction, indexed by deadline.
//
//   cell   := chain:u32 hash:u32 queue:2*u32 wheel:2*u32 size:27 rank:3 referenced:1 busy:1 record
//
// Records are kept without a checksum (Seal::kNone): who hands one out seals the copy. The low half of the
// hash of the key tells nearly every other record in a bucket apart without a look at its key, which is in
// another cache line. The record stands in the cell itself or, beyond kMaxInlineBytes, in a block of its own
// whose number does.
//
// Who goes first when there is no room (shard_eviction.cc):
//
//   1  what has ended: timed out, or no variable left that is not expired
//   2  kOnce      seen by one commit only, oldest first: a flood of new addresses pushes out itself
//   3  kAgain     least recently used, by second chance: a queue whose first goes to the end instead if it
//   was used
//                 since it last came by
//   4  kHeldOnce  as kOnce, but with a long deadline ahead: oldest first
//   5  kHeld      a long deadline ahead, and seen again: a block. Of a few that come up next, the one that
//   ends first
//
// The queues are those of S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023)
// without its ghost queue, and with an immediate move at the second sight, so that rank 2 is exact. A record
// is held from a commit that leaves a deadline more than kLongDeadline ahead until that deadline is over.
//
// Nothing here locks: every call needs mutex(), but for the constructor.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/cell_index.h"
#include "core/cell_lists.h"
#include "core/deadline_wheel.h"
#include "core/record_deadlines.h"
#include "core/record_patch.h"
#include "core/revision.h"

namespace wafstate {

constexpr std::size_t kMaxShards = 64;

// What all shards of a table share.
struct TableBounds {
  TableBounds(std::uint64_t max_bytes, std::uint64_t max_records, bool may_evict)
      : bytes(max_bytes), records(max_records), evicts(may_evict), revision(NextRevision(0)) {
    for (auto& from : evictable_from)
      from.store(INT64_MAX, std::memory_order_relaxed);
  }

  Budget bytes;
  Budget records;
  PagePool pages;
  // Else a full table refuses. What has ended is removed either way.
  const bool evicts;
  // For each shard, when it has or may have something of ranks 1 to 3 (INT64_MIN: it has): read without
  // locks, so that no shard gives up a held record while another has one that is not.
  std::array<std::atomic<std::int64_t>, kMaxShards> evictable_from;
  // The last revision that was given.
  std::atomic<std::uint64_t> revision;

  [[nodiscard]] std::uint64_t TakeRevision() { return revision.fetch_add(1, std::memory_order_relaxed) + 1; }
};

// Why a record was removed to make room.
enum class Evicted : std::uint8_t { kEnded, kSeenOnce, kLeastRecentlyUsed, kHeld };
constexpr std::size_t kEvictedKinds = 4;
using EvictionCounts = std::array<std::uint64_t, kEvictedKinds>;

enum class Room : std::uint8_t {
  kMade,
  // Nothing here may go as long as other shards have what goes before it.
  kElsewhere,
  kNone,
  // There never is: a record of that size would push out too much.
  kTooLarge,
};

struct SweepBudget {
  std::size_t records;
  std::size_t variables;
};

struct SweepCounts {
  std::size_t records_examined = 0;
  std::size_t records_removed = 0;
  std::size_t variables_examined = 0;
  std::size_t variables_removed = 0;
};

class TableShard {
 public:
  // Nanoseconds: five minutes, the longest usual window of a counter. What lasts longer is a block.
  static constexpr std::int64_t kLongDeadline = 300'000'000'000;

  // `number` is its place in bounds.evictable_from. REQUIRES: FixedCost() was taken from bounds.bytes.
  TableShard(TableBounds& bounds, std::size_t number);
  [[nodiscard]] static std::uint64_t FixedCost();

  [[nodiscard]] std::mutex& mutex() { return mutex_; }

  void Advance(std::int64_t now) {
    if (wheel_.Advance(now)) evictable_changed_ = true;
  }

  // `key` in the grammar of core/record_key.h, `hash` that of its bytes. kNoCell where there is none.
  [[nodiscard]] CellRef Find(Bytes key, std::uint64_t hash);
  // Valid until a record is stored, removed or evicted.
  [[nodiscard]] Bytes Record(CellRef ref);
  // Cells move when others are freed: as long as this stands still, a ref holds.
  [[nodiscard]] std::uint64_t moves() const { return moves_; }

  // A read, or a commit, has seen it again.
  void Touch(CellRef ref);
  // Busy ones are never evicted.
  void SetBusy(CellRef ref, bool busy);

  // Whether a record of this size would stay in the cell that it has.
  [[nodiscard]] bool StaysInPlace(CellRef ref, std::size_t record_bytes);
  // Takes one of the bounds' records. Evicts for it; `counts` tells whom. With `last_resort` also what is
  // held, where other shards may have what goes first.
  [[nodiscard]] Room TakeRecord(std::int64_t now, bool last_resort, EvictionCounts& counts);
  // What a record of more bytes than fit in a cell may take at most.
  [[nodiscard]] std::uint64_t MaxRecordCost() const { return bounds_.bytes.limit() / 4; }
  // Reserves a cell, which does not move until it is stored or cancelled. Evicts as above. `needed` is set to
  // the bytes that were missing where it fails.
  [[nodiscard]] Room Allocate(std::size_t record_bytes, std::int64_t now, bool last_resort,
                              EvictionCounts& counts, CellRef& cell, std::uint64_t& needed);
  void Cancel(CellRef cell);
  // Evicts one of ranks 1 to 3, or 1 only where the bounds do not evict; false where there is none.
  [[nodiscard]] bool EvictUnheld(std::int64_t now, EvictionCounts& counts);

  // Stores a record. `existing`, if any, is replaced; `cell` is a reserved one, or kNoCell where the record
  // stays in place.
  void Store(CellRef existing, CellRef cell, std::uint64_t hash, Bytes record, std::int64_t now);
  // The record where it lies, for RecordPatch. Valid as Record.
  [[nodiscard]] std::span<std::uint8_t> RecordInPlace(CellRef ref) { return {RecordAt(ref), At(ref).size}; }
  // Makes the patch that was planned on the record, and does all else that Store does.
  void Patch(CellRef ref, const RecordPatch& patch, std::uint64_t revision, std::int64_t now,
             ReplyWriter& reply);
  // Gives the record's place in the bounds back, too.
  void Remove(CellRef ref, std::uint64_t hash);

  // Cleans up what has ended, longest due first, until `counts` has reached the budget; `buffer` is working
  // memory. True where nothing that had ended is left. Looks at some that end soon as well: see
  // DeadlineWheel::ComeUp.
  [[nodiscard]] bool CleanUp(std::int64_t now, const SweepBudget& budget, SweepCounts& counts,
                             Buffer& buffer);

  // Brings bounds.evictable_from up to date: before mutex() is let go.
  void PublishEvictable();

  [[nodiscard]] const CellIndex& index() const { return index_; }
  [[nodiscard]] CellRef NextInBucket(CellRef ref) { return index_.Next(ref); }

 private:
  enum class Rank : std::uint8_t { kOnce = 0, kAgain = 1, kHeldOnce = 2, kHeld = 3 };
  // Ranks below kHeld are the numbers of their queues.
  static constexpr std::size_t kQueues = 3;

  struct Entry {
    CellRef chain;
    std::uint32_t hash;
    CellLinks queue;
    CellLinks wheel;
    std::uint32_t size : 27;
    std::uint32_t rank : 3;
    std::uint32_t referenced : 1;
    std::uint32_t busy : 1;
  };
  static_assert(sizeof(Entry) == 28);
  static constexpr std::size_t kMaxInlineBytes = CellStore::kMaxCellBytes - sizeof(Entry);
  static constexpr std::uint32_t kMaxRecordBytes = (1U << 27) - 1;
  // A block, what malloc puts before it, and its place in blocks_, which may be twice as long as it is full.
  static constexpr std::uint64_t kBlockOverhead = 16 + 2 * sizeof(std::unique_ptr<std::uint8_t[]>);

  [[nodiscard]] Entry& At(CellRef ref) { return *reinterpret_cast<Entry*>(cells_.At(ref)); }
  [[nodiscard]] static Rank RankOf(const Entry& entry) { return static_cast<Rank>(entry.rank); }
  static void SetSize(Entry& entry, std::size_t bytes) {
    entry.size = static_cast<std::uint32_t>(bytes) & kMaxRecordBytes;
  }
  [[nodiscard]] static bool IsInline(std::size_t record_bytes) { return record_bytes <= kMaxInlineBytes; }
  [[nodiscard]] static std::size_t CellClass(std::size_t record_bytes);
  [[nodiscard]] std::uint8_t* RecordAt(CellRef ref);
  // As many bits as a shard can have buckets for.
  [[nodiscard]] std::uint64_t HashOf(CellRef ref) { return At(ref).hash; }
  [[nodiscard]] bool TryAllocate(std::size_t record_bytes, CellRef& cell);
  [[nodiscard]] std::uint32_t AddBlock(std::size_t bytes);
  void Write(CellRef ref, Bytes record);
  void TakeOver(CellRef from, CellRef to, std::uint64_t hash);
  void Release(CellRef ref);
  void Enqueue(CellRef ref, Rank rank);
  void SetRank(CellRef ref, Rank rank);
  void Schedule(CellRef ref, std::int64_t deadline);
  void Unschedule(CellRef ref);
  void Rerank(CellRef ref, const RecordDeadlines& before, const RecordDeadlines& after, std::int64_t now);
  void Reschedule(CellRef ref, std::int64_t before, std::int64_t after);
  void CleanUpOne(CellRef ref, std::int64_t now, SweepCounts& counts, Buffer& buffer);
  [[nodiscard]] bool Rewrite(CellRef ref, Bytes record, std::int64_t now);

  [[nodiscard]] Room EvictOne(std::int64_t now, bool last_resort, EvictionCounts& counts);
  void Evict(CellRef ref, Evicted kind, EvictionCounts& counts);
  [[nodiscard]] bool OthersMayEvict(std::int64_t now) const;
  [[nodiscard]] CellRef FindEnded(std::int64_t now);
  [[nodiscard]] CellRef OldestOf(Rank rank);
  [[nodiscard]] CellRef LeastRecentlyUsed();
  [[nodiscard]] CellRef EndsFirst();

  std::mutex mutex_;
  TableBounds& bounds_;
  const std::size_t number_;
  CellStore cells_;
  CellIndex index_;
  CellLists queues_;
  DeadlineWheel wheel_;
  // Records too long for a cell.
  std::vector<std::unique_ptr<std::uint8_t[]>> blocks_;
  std::vector<std::uint32_t> unused_blocks_;
  std::uint64_t moves_ = 0;
  std::size_t busy_ = 0;
  // Whether what PublishEvictable would tell may be news.
  bool evictable_changed_ = true;
  // The time of a cleanup that has come to this shard and not to its end; INT64_MIN = none has.
  std::int64_t cleaning_at_ = INT64_MIN;
};

}  // namespace wafstate
