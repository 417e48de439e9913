#include "core/shared_table.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <numeric>

#include "core/record_key.h"

namespace wafstate {

namespace {

// A shard for as many bytes and records, so that small tables have one, and evict in exact order.
constexpr std::uint64_t kBytesPerShard = 1 << 20;
constexpr std::uint64_t kRecordsPerShard = 1024;
// How often a commit makes room in other shards before it takes what its own have.
constexpr int kAttempts = 64;
// Records that are cleaned up under one lock.
constexpr std::size_t kRecordsPerLock = 64;
// Hash values keep shards apart by bits that buckets use only beyond 2^32 buckets a shard.
static_assert(kMaxShards == 64);

std::size_t ShardCount(const TableOptions& options) {
  const std::uint64_t wanted =
      std::min(options.max_bytes / kBytesPerShard, options.max_records / kRecordsPerShard);
  return static_cast<std::size_t>(std::bit_floor(std::clamp<std::uint64_t>(wanted, 1, kMaxShards)));
}

}  // namespace

class SharedTable::Locks {
 public:
  Locks(SharedTable& table, const TableSession& session) : table_(table), session_(session) {
    for (const std::size_t shard : session.shards_) {
      table_.shards_[shard]->mutex().lock();
      table_.shards_[shard]->Advance(session.request_.now());
    }
  }
  ~Locks() {
    for (const std::size_t shard : session_.shards_) {
      table_.shards_[shard]->PublishEvictable();
      table_.shards_[shard]->mutex().unlock();
    }
  }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

 private:
  SharedTable& table_;
  const TableSession& session_;
};

SharedTable::SharedTable(const TableOptions& options, const HashKey& hash_key)
    : options_(options),
      bounds_(options.max_bytes, options.max_records, options.evicts),
      hash_key_(hash_key) {
  const std::size_t count = ShardCount(options);
  for (std::size_t i = 0; i < count; ++i) {
    // kMinBytes and kBytesPerShard leave room for it.
    [[maybe_unused]] const bool taken = bounds_.bytes.Take(TableShard::FixedCost());
    shards_.push_back(std::make_unique<TableShard>(bounds_, i));
  }
}

bool SharedTable::Load(Bytes key, Buffer& record) {
  const std::uint64_t hash = SipHash<1, 3>(hash_key_, key);
  TableShard& shard = *shards_[ShardOf(hash)];
  const std::lock_guard lock(shard.mutex());
  const CellRef ref = shard.Find(key, hash);
  if (ref == kNoCell) return false;
  const std::size_t start = record.size();
  Append(record, shard.Record(ref));
  SealRecord(record, start);
  shard.Touch(ref);
  return true;
}

std::size_t SharedTable::LoadInto(Bytes key, std::span<std::uint8_t> to) {
  const std::uint64_t hash = SipHash<1, 3>(hash_key_, key);
  TableShard& shard = *shards_[ShardOf(hash)];
  const std::lock_guard lock(shard.mutex());
  const CellRef ref = shard.Find(key, hash);
  if (ref == kNoCell) return 0;
  const Bytes record = shard.Record(ref);
  if (record.size() <= to.size()) std::memcpy(to.data(), record.data(), record.size());
  shard.Touch(ref);
  return record.size();
}

void SharedTable::Commit(Bytes request, TableSession& session, Buffer& reply) {
  const std::size_t start = reply.size();
  session.evicted_.fill(0);
  if (!session.request_.Parse(request) || !Plan(session)) {
    ReplyWriter writer(reply);
    writer.BeginAnswer();
    writer.Refuse({.status = Status::kMalformed});
    return;
  }
  bool last_resort = false;
  for (int attempt = 1; Try(session, last_resort, reply) == Attempt::kNeedsRoomElsewhere; ++attempt) {
    reply.resize(start);
    last_resort = !MakeRoom(session) || attempt >= kAttempts;
  }
  for (std::size_t i = 0; i < kEvictedKinds; ++i) {
    if (session.evicted_[i] > 0) evicted_[i].fetch_add(session.evicted_[i], std::memory_order_relaxed);
  }
}

// Where each record is. False where one stands twice in the request.
bool SharedTable::Plan(TableSession& session) {
  const std::span<const Write> writes = session.request_.writes();
  session.keys_.clear();
  session.shards_.clear();
  session.writes_ = writes.size();
  if (session.planned_.size() < writes.size()) session.planned_.resize(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    TableSession::Planned& planned = session.planned_[i];
    planned.key_offset = session.keys_.size();
    AppendRecordKey(session.keys_, writes[i].name);
    planned.key_bytes = session.keys_.size() - planned.key_offset;
    planned.hash = SipHash<1, 3>(hash_key_, session.KeyOf(planned));
    planned.shard = ShardOf(planned.hash);
    session.shards_.push_back(planned.shard);
  }
  if (writes.size() == 1) return true;
  std::sort(session.shards_.begin(), session.shards_.end());
  session.shards_.erase(std::unique(session.shards_.begin(), session.shards_.end()), session.shards_.end());
  return !HasTwins(session);
}

bool SharedTable::HasTwins(TableSession& session) {
  // Records with different hashes are different, and most commits have two or three.
  if (session.writes_ == 2 && session.planned_[0].hash != session.planned_[1].hash) return false;
  std::vector<std::size_t>& order = session.order_;
  order.resize(session.writes_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&session](std::size_t i) { return session.KeyOf(session.planned_[i]); };
  std::sort(order.begin(), order.end(),
            [&key](std::size_t a, std::size_t b) { return Compare(key(a), key(b)) < 0; });
  return std::adjacent_find(order.begin(), order.end(), [&key](std::size_t a, std::size_t b) {
           return Equal(key(a), key(b));
         }) != order.end();
}

SharedTable::Attempt SharedTable::Try(TableSession& session, bool last_resort, Buffer& reply) {
  const Locks locks(*this, session);
  ReplyWriter writer(reply);
  writer.BeginAnswer();
  Locate(session);
  if (CommitInPlace(session, writer)) {
    writer.FinishAnswer();
    return Attempt::kAnswered;
  }
  Refusal refusal = Apply(session, writer);
  if (refusal.status == Status::kApplied) {
    const Room room = Reserve(session, last_resort);
    if (room == Room::kMade) {
      Publish(session);
      writer.FinishAnswer();
      return Attempt::kAnswered;
    }
    Cancel(session);
    if (room == Room::kElsewhere) {
      ClearBusy(session);
      return Attempt::kNeedsRoomElsewhere;
    }
    refusal = Full(session);
    refused_.fetch_add(1, std::memory_order_relaxed);
  }
  ClearBusy(session);
  writer.Refuse(refusal);
  return Attempt::kAnswered;
}

void SharedTable::Locate(TableSession& session) {
  session.writes_ = session.request_.writes().size();
  for (std::size_t i = 0; i < session.writes_; ++i) {
    TableSession::Planned& planned = session.planned_[i];
    TableShard& shard = *shards_[planned.shard];
    planned.existing = shard.Find(session.KeyOf(planned), planned.hash);
    planned.moves = shard.moves();
  }
}

// Where no write moves a byte: most of all commits. False where one may, and then nothing has changed.
bool SharedTable::CommitInPlace(TableSession& session, ReplyWriter& writer) {
  const std::span<const Write> writes = session.request_.writes();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    TableSession::Planned& planned = session.planned_[i];
    if (planned.existing == kNoCell) return false;
    TableShard& shard = *shards_[planned.shard];
    if (!planned.patch.Plan(shard.RecordInPlace(planned.existing), session.request_, writes[i])) return false;
  }
  // Every revision up to the last one is in range, or Applier has the answer.
  const std::uint64_t last = bounds_.revision.fetch_add(writes.size(), std::memory_order_relaxed);
  if (last + writes.size() > kMaxRevision) return false;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const TableSession::Planned& planned = session.planned_[i];
    shards_[planned.shard]->Patch(planned.existing, planned.patch, last + 1 + i, session.request_.now(),
                                  writer);
  }
  return true;
}

// Applies every write to what is there and keeps the new records aside.
Refusal SharedTable::Apply(TableSession& session, ReplyWriter& writer) {
  const std::span<const Write> writes = session.request_.writes();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    TableSession::Planned& planned = session.planned_[i];
    TableShard& shard = *shards_[planned.shard];
    planned.cell = kNoCell;
    planned.took_record = false;
    planned.record.clear();
    std::optional<Bytes> existing;
    if (planned.existing != kNoCell) existing = shard.Record(planned.existing);
    Refusal refusal = session.applier_.Apply(existing, session.request_, writes[i], bounds_.TakeRevision(),
                                             planned.record, writer);
    if (refusal.status != Status::kApplied) {
      refusal.write = static_cast<std::uint16_t>(i);
      session.writes_ = i;
      return refusal;
    }
    if (planned.existing != kNoCell) shard.SetBusy(planned.existing, true);
  }
  session.writes_ = writes.size();
  return {};
}

// Makes room for all of them before any is stored.
Room SharedTable::Reserve(TableSession& session, bool last_resort) {
  const std::int64_t now = session.request_.now();
  for (std::size_t i = 0; i < session.writes_; ++i) {
    TableSession::Planned& planned = session.planned_[i];
    if (planned.record.empty()) continue;
    TableShard& shard = *shards_[planned.shard];
    const CellRef existing = Refind(session, planned);
    if (existing == kNoCell) {
      session.bound_ = TableBound::kRecords;
      const Room room = shard.TakeRecord(now, last_resort, session.evicted_);
      if (room != Room::kMade) return room;
      planned.took_record = true;
    } else if (shard.StaysInPlace(existing, planned.record.size())) {
      continue;
    }
    session.bound_ = TableBound::kBytes;
    const Room room = shard.Allocate(planned.record.size(), now, last_resort, session.evicted_, planned.cell,
                                     session.needed_);
    if (room == Room::kTooLarge) session.bound_ = TableBound::kOneRecord;
    if (room != Room::kMade) return room;
  }
  return Room::kMade;
}

void SharedTable::Cancel(TableSession& session) {
  for (std::size_t i = 0; i < session.writes_; ++i) {
    TableSession::Planned& planned = session.planned_[i];
    if (planned.cell != kNoCell) shards_[planned.shard]->Cancel(planned.cell);
    if (planned.took_record) bounds_.records.Give(1);
  }
}

void SharedTable::Publish(TableSession& session) {
  for (std::size_t i = 0; i < session.writes_; ++i) {
    TableSession::Planned& planned = session.planned_[i];
    TableShard& shard = *shards_[planned.shard];
    const CellRef existing = Refind(session, planned);
    if (existing != kNoCell) shard.SetBusy(existing, false);
    if (!planned.record.empty()) {
      shard.Store(existing, planned.cell, planned.hash, planned.record, session.request_.now());
    } else if (existing != kNoCell) {
      shard.Remove(existing, planned.hash);
    }
  }
}

void SharedTable::ClearBusy(TableSession& session) {
  for (std::size_t i = 0; i < session.writes_; ++i) {
    const CellRef existing = Refind(session, session.planned_[i]);
    if (existing != kNoCell) shards_[session.planned_[i].shard]->SetBusy(existing, false);
  }
}

// Where the record is now: making room moves others about.
CellRef SharedTable::Refind(TableSession& session, TableSession::Planned& planned) {
  TableShard& shard = *shards_[planned.shard];
  if (planned.existing != kNoCell && planned.moves != shard.moves()) {
    planned.existing = shard.Find(session.KeyOf(planned), planned.hash);
    planned.moves = shard.moves();
  }
  return planned.existing;
}

// In shards that are not locked by anyone who waits for another: without a lock held, one at a time.
bool SharedTable::MakeRoom(TableSession& session) {
  const std::int64_t now = session.request_.now();
  const auto enough = [this, &session] {
    return session.bound_ == TableBound::kRecords ? bounds_.records.Has(1)
                                                  : bounds_.bytes.Has(session.needed_);
  };
  const std::size_t first = session.shards_.front() + 1;
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    const std::size_t number = (first + i) % shards_.size();
    if (bounds_.evictable_from[number].load(std::memory_order_relaxed) > now) continue;
    TableShard& shard = *shards_[number];
    const std::lock_guard lock(shard.mutex());
    shard.Advance(now);
    while (!enough() && shard.EvictUnheld(now, session.evicted_)) {
    }
    shard.PublishEvictable();
    if (enough()) return true;
  }
  return false;
}

Refusal SharedTable::Full(const TableSession& session) const {
  Refusal refusal{.status = Status::kTableFull};
  switch (session.bound_) {
    case TableBound::kBytes:
      refusal.limit = options_.max_bytes;
      refusal.actual = bounds_.bytes.used() + session.needed_;
      break;
    case TableBound::kRecords:
      refusal.limit = options_.max_records;
      refusal.actual = bounds_.records.used() + 1;
      break;
    case TableBound::kOneRecord:
      refusal.limit = shards_.front()->MaxRecordCost();
      refusal.actual = session.needed_;
      break;
  }
  return refusal;
}

bool SharedTable::CleanUp(std::int64_t now, const SweepBudget& budget, SweepCounts& counts, Buffer& buffer) {
  std::size_t number = next_to_clean_.load(std::memory_order_relaxed);
  while (number < shards_.size()) {
    TableShard& shard = *shards_[number];
    const SweepBudget part{.records = std::min(budget.records, counts.records_examined + kRecordsPerLock),
                           .variables = budget.variables};
    bool done = false;
    {
      const std::lock_guard lock(shard.mutex());
      done = shard.CleanUp(now, part, counts, buffer);
      shard.PublishEvictable();
    }
    const bool met_part = counts.records_examined >= part.records;
    if (done) ++number;
    next_to_clean_.store(number, std::memory_order_relaxed);
    if (number == shards_.size()) break;
    // Not done with fewer records than asked for: the next one has too many variables.
    if (counts.records_examined >= budget.records || (!done && !met_part)) return false;
  }
  next_to_clean_.store(0, std::memory_order_relaxed);
  return true;
}

bool SharedTable::ClaimSweep(std::uint64_t interval) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  const auto now = static_cast<std::uint64_t>(duration_cast<milliseconds>(since_start).count());
  std::uint64_t last = last_sweep_.load(std::memory_order_relaxed);
  // Half, since the timers of the threads have a jitter.
  return now - last >= interval / 2 &&
         last_sweep_.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

bool SharedTable::Scan(TableScan& scan, std::size_t records) {
  const Bytes prefix(scan.prefix);
  const Bytes after(scan.after);
  Buffer key;
  for (std::size_t seen = 0; scan.shard < shards_.size(); ++scan.shard, scan.bucket = 0) {
    TableShard& shard = *shards_[scan.shard];
    const std::lock_guard lock(shard.mutex());
    for (; scan.bucket < shard.index().buckets(); ++scan.bucket, ++seen) {
      if (seen >= records) return false;
      for (CellRef ref = shard.index().Bucket(scan.bucket); ref != kNoCell; ref = shard.NextInBucket(ref)) {
        ++seen;
        const Bytes record = shard.Record(ref);
        RecordView view;
        if (view.OpenHeader(record, Seal::kNone) != Corruption::kNone) continue;
        if (!scan.hidden && view.facts().IsTimedOut(scan.now)) continue;
        key.clear();
        AppendRecordKey(key, view.name());
        if (key.size() < prefix.size() || !Equal(Bytes(key).first(prefix.size()), prefix)) continue;
        if (Compare(key, after) <= 0) continue;
        if (scan.found.size() == scan.limit) {
          const auto last = std::prev(scan.found.end());
          if (Compare(key, last->first) > 0) {
            scan.more = true;
            continue;
          }
        }
        // A bucket that was split meanwhile may bring a record a second time.
        Buffer copy(record.begin(), record.end());
        SealRecord(copy, 0);
        scan.found.insert_or_assign(key, std::move(copy));
        if (scan.found.size() > scan.limit) {
          scan.found.erase(std::prev(scan.found.end()));
          scan.more = true;
        }
      }
    }
  }
  return true;
}

TableStats SharedTable::Stats() const {
  TableStats stats{.records = bounds_.records.used(),
                   .bytes = bounds_.bytes.used(),
                   .evicted = {},
                   .refused = refused_.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < kEvictedKinds; ++i)
    stats.evicted[i] = evicted_[i].load(std::memory_order_relaxed);
  return stats;
}

}  // namespace wafstate
