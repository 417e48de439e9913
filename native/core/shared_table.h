// A table of records that all threads of a process see.
//
// Records are spread over shards by a keyed hash, a lock a shard. A commit locks the shards of its records in
// ascending order, so that commits of several records are atomic and never wait for each other in a circle.
// The time of a call does not grow with the table: what grows, grows a bucket or a page at a time, and what
// is looked at before something is evicted is bounded (core/table_shard.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/apply.h"
#include "core/reply.h"
#include "core/request.h"
#include "core/sip_hash.h"
#include "core/table_shard.h"

namespace wafstate {

struct TableOptions {
  // Everything the table takes, 1 MiB or more.
  std::uint64_t max_bytes;
  std::uint64_t max_records;
  // Evict at the bound, or refuse.
  bool evicts;

  bool operator==(const TableOptions&) const = default;
};

struct TableStats {
  std::uint64_t records;
  std::uint64_t bytes;
  EvictionCounts evicted;
  // Commits that found no room.
  std::uint64_t refused;
};

// What a commit met that found no room.
enum class TableBound : std::uint8_t {
  kBytes = 0,
  kRecords = 1,
  // One record may take a quarter of the bytes.
  kOneRecord = 2,
};

// The working memory of a thread that commits.
class TableSession {
 public:
  // Records that the last commit evicted.
  [[nodiscard]] const EvictionCounts& evicted() const { return evicted_; }
  // Of the last refusal with kTableFull.
  [[nodiscard]] TableBound bound() const { return bound_; }

 private:
  friend class SharedTable;

  struct Planned {
    std::size_t key_offset;
    std::size_t key_bytes;
    std::uint64_t hash;
    std::size_t shard;
    CellRef existing;
    std::uint64_t moves;
    // What was reserved for it.
    CellRef cell;
    bool took_record;
    Buffer record;
    RecordPatch patch;
  };

  [[nodiscard]] Bytes KeyOf(const Planned& planned) const {
    return Bytes(keys_).subspan(planned.key_offset, planned.key_bytes);
  }

  Request request_;
  Applier applier_{Seal::kNone};
  Buffer keys_;
  std::vector<Planned> planned_;
  std::size_t writes_ = 0;
  std::vector<std::size_t> order_;
  // The shards of the commit, ascending, each once.
  std::vector<std::size_t> shards_;
  EvictionCounts evicted_{};
  std::uint64_t needed_ = 0;
  TableBound bound_ = TableBound::kBytes;
};

struct InByteOrder {
  [[nodiscard]] bool operator()(const Buffer& a, const Buffer& b) const { return Compare(a, b) < 0; }
};

// One page of records in byte order of their keys, collected in as many calls as the caller likes.
struct TableScan {
  // Only keys that begin with it and come after `after`; an empty `after` is before all.
  Buffer prefix;
  Buffer after;
  std::size_t limit;
  std::int64_t now;
  // Timed-out records too.
  bool hidden;

  std::map<Buffer, Buffer, InByteOrder> found;
  // More than `limit` were seen.
  bool more = false;
  // Where it stands.
  std::size_t shard = 0;
  std::size_t bucket = 0;
};

class SharedTable {
 public:
  explicit SharedTable(const TableOptions& options, const HashKey& hash_key);

  // The least that max_bytes may be.
  static constexpr std::uint64_t kMinBytes = std::uint64_t{1} << 20;

  [[nodiscard]] const TableOptions& options() const { return options_; }

  // Appends the record, if there is one, and gives true. `key` in the grammar of core/record_key.h.
  [[nodiscard]] bool Load(Bytes key, Buffer& record);
  // Copies the record to `to` where it fits, without a checksum, and gives its bytes; 0 = there is none.
  [[nodiscard]] std::size_t LoadInto(Bytes key, std::span<std::uint8_t> to);

  // Executes one request of docs/format.md, and appends its answer.
  void Commit(Bytes request, TableSession& session, Buffer& reply);

  // Cleans up what is due by `now`, as long as `counts` stays within the budget. True where it came to the
  // end of the table: the next call starts over. Locks for a bounded time only. `buffer` is working memory.
  [[nodiscard]] bool CleanUp(std::int64_t now, const SweepBudget& budget, SweepCounts& counts,
                             Buffer& buffer);
  // True for one caller in each interval (milliseconds): who sweeps, of the threads that have the table open.
  [[nodiscard]] bool ClaimSweep(std::uint64_t interval);

  // Goes on with a scan for about `records` records. True at its end.
  [[nodiscard]] bool Scan(TableScan& scan, std::size_t records);

  [[nodiscard]] TableStats Stats() const;

 private:
  // Locks of several shards, let go together.
  class Locks;

  // What became of one attempt.
  enum class Attempt : std::uint8_t { kAnswered, kNeedsRoomElsewhere };

  [[nodiscard]] bool Plan(TableSession& session);
  [[nodiscard]] static bool HasTwins(TableSession& session);
  void Locate(TableSession& session);
  [[nodiscard]] bool CommitInPlace(TableSession& session, ReplyWriter& writer);
  [[nodiscard]] Attempt Try(TableSession& session, bool last_resort, Buffer& reply);
  [[nodiscard]] Refusal Apply(TableSession& session, ReplyWriter& writer);
  [[nodiscard]] Room Reserve(TableSession& session, bool last_resort);
  void Cancel(TableSession& session);
  void Publish(TableSession& session);
  void ClearBusy(TableSession& session);
  [[nodiscard]] CellRef Refind(TableSession& session, TableSession::Planned& planned);
  [[nodiscard]] bool MakeRoom(TableSession& session);
  [[nodiscard]] Refusal Full(const TableSession& session) const;
  [[nodiscard]] std::size_t ShardOf(std::uint64_t hash) const { return hash >> 32 & (shards_.size() - 1); }

  const TableOptions options_;
  TableBounds bounds_;
  const HashKey hash_key_;
  std::vector<std::unique_ptr<TableShard>> shards_;
  std::array<std::atomic<std::uint64_t>, kEvictedKinds> evicted_{};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::size_t> next_to_clean_{0};
  // Milliseconds of the steady clock.
  std::atomic<std::uint64_t> last_sweep_{0};
};

// The table of this process with that name, made with the options if there is none. One that was made with
// others is left as it is: compare options(). It lives to the end of the process.
[[nodiscard]] SharedTable& OpenSharedTable(std::string_view name, const TableOptions& options);

}  // namespace wafstate
