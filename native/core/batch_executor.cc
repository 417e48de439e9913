#include "core/batch_executor.h"

#include <algorithm>

#include "core/record_key.h"

namespace wafstate {

namespace {

// A buffer that grew beyond this is given back when its batch is over: one large record must not stay in
// memory once for every place it ever had in a batch.
constexpr std::size_t kKeptBytes = 65'536;

void GiveBackLarge(Buffer& buffer) {
  if (buffer.capacity() > kKeptBytes) Buffer().swap(buffer);
}

}  // namespace

void BatchExecutor::Begin(Bytes batch) {
  requests_.clear();
  writes_.clear();
  changes_.clear();
  keys_.clear();
  reply_.clear();
  // Those of the batch before: what was used earlier has been given back already.
  for (std::size_t i = 0; i < key_count_; ++i)
    GiveBackLarge(entries_[i].buffer);

  BatchReader reader(batch);
  for (Bytes bytes; reader.Next(bytes);) {
    requests_.push_back({.bytes = bytes, .first_write = writes_.size()});
    Plan(requests_.size() - 1);
  }
  FindEntries();
}

void BatchExecutor::Plan(std::size_t request) {
  parsed_ = request;
  if (!request_.Parse(requests_[request].bytes)) {
    requests_[request].refusal.status = Status::kMalformed;
    return;
  }
  for (const Write& write : request_.writes()) {
    const std::size_t offset = keys_.size();
    AppendRecordKey(keys_, write.name);
    writes_.push_back({.request = request, .key_offset = offset, .key_size = keys_.size() - offset});
  }
}

// Sorting finds the distinct records, gives engines the order in which a tree is best read and written, and
// cannot be slowed down by clients who choose their keys, as hashing can.
void BatchExecutor::FindEntries() {
  const auto key_of = [this](std::size_t write) {
    return Bytes(keys_).subspan(writes_[write].key_offset, writes_[write].key_size);
  };
  by_key_.resize(writes_.size());
  for (std::size_t i = 0; i < by_key_.size(); ++i)
    by_key_[i] = i;
  std::sort(by_key_.begin(), by_key_.end(), [&key_of](std::size_t a, std::size_t b) {
    const int order = Compare(key_of(a), key_of(b));
    return order != 0 ? order < 0 : a < b;
  });
  key_count_ = 0;
  for (std::size_t i = 0; i < by_key_.size(); ++i) {
    PlannedWrite& write = writes_[by_key_[i]];
    if (i > 0 && Equal(key_of(by_key_[i]), key_of(by_key_[i - 1]))) {
      if (write.request == writes_[by_key_[i - 1]].request) {
        requests_[write.request].refusal.status = Status::kMalformed;
      }
    } else {
      if (key_count_ == entries_.size()) entries_.emplace_back();
      entries_[key_count_].key_offset = write.key_offset;
      entries_[key_count_].key_size = write.key_size;
      ++key_count_;
    }
    write.entry = key_count_ - 1;
  }
}

void BatchExecutor::Refuse(std::size_t request, const Refusal& refusal) {
  Refusal& kept = requests_[request].refusal;
  if (kept.status != Status::kMalformed) kept = refusal;
}

void BatchExecutor::RefuseAll(const Refusal& refusal) {
  changes_.clear();
  reply_.clear();
  ReplyWriter reply(reply_);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    Refuse(i, refusal);
    requests_[i].applied = false;
    requests_[i].growth = 0;
    reply.BeginAnswer();
    reply.Refuse(requests_[i].refusal);
  }
}

void BatchExecutor::Execute(RecordSource& source) {
  gave_revisions_ = false;
  for (std::size_t i = 0; i < key_count_; ++i) {
    Entry& entry = entries_[i];
    entry.read = false;
    entry.changed = false;
    entry.failure = Refusal();
    entry.current.reset();
  }
  // In order of the keys, which a tree is read in for half the price; none is read in vain but for requests
  // that the engine refused.
  for (std::size_t i = 0; i < key_count_; ++i)
    static_cast<void>(Read(entries_[i], source));
  reply_.clear();
  ReplyWriter reply(reply_);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    PlannedRequest& planned = requests_[i];
    planned.growth = 0;
    reply.BeginAnswer();
    const Refusal refusal =
        planned.refusal.status != Status::kApplied ? planned.refusal : ExecuteRequest(i, source, reply);
    planned.applied = refusal.status == Status::kApplied;
    if (planned.applied) {
      Publish(planned, request_.writes().size());
      reply.FinishAnswer();
    } else {
      reply.Refuse(refusal);
    }
  }
  for (Staged& staged : staged_)
    GiveBackLarge(staged.record);
  CollectChanges();
}

Refusal BatchExecutor::ExecuteRequest(std::size_t request, RecordSource& source, ReplyWriter& reply) {
  Parse(request);
  const std::span<const Write> writes = request_.writes();
  if (staged_.size() < writes.size()) staged_.resize(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Entry& entry = entries_[writes_[requests_[request].first_write + i].entry];
    Refusal refusal = Read(entry, source);
    if (refusal.status == Status::kApplied) {
      Staged& staged = staged_[i];
      staged.record.clear();
      refusal =
          applier_.Apply(entry.current, request_, writes[i], source.TakeRevision(), staged.record, reply);
      staged.removed = staged.record.empty();
    }
    if (refusal.status != Status::kApplied) {
      refusal.write = static_cast<std::uint16_t>(i);
      return refusal;
    }
  }
  return Refusal();
}

// A batch of one, the commonest where latency counts, is read once only.
void BatchExecutor::Parse(std::size_t request) {
  if (parsed_ == request) return;
  parsed_ = request;
  // It was sound when it was planned, and its bytes are as they were.
  static_cast<void>(request_.Parse(requests_[request].bytes));
}

const Refusal& BatchExecutor::Read(Entry& entry, RecordSource& source) const {
  if (!entry.read) {
    const RecordSource::ReadResult result = source.Read(KeyOf(entry));
    entry.read = true;
    entry.failure = result.failure;
    entry.current = result.record;
    entry.stored_bytes = result.record ? result.record->size() : 0;
  }
  return entry.failure;
}

void BatchExecutor::Publish(PlannedRequest& planned, std::size_t write_count) {
  for (std::size_t i = 0; i < write_count; ++i) {
    Entry& entry = entries_[writes_[planned.first_write + i].entry];
    Staged& staged = staged_[i];
    const std::size_t before = entry.current ? entry.current->size() : 0;
    entry.changed = true;
    entry.current.reset();
    // The buffer that is superseded serves as the next one to stage in.
    entry.buffer.swap(staged.record);
    if (!staged.removed) {
      entry.current = Bytes(entry.buffer);
      gave_revisions_ = true;
    }
    planned.growth += static_cast<std::int64_t>(entry.buffer.size()) - static_cast<std::int64_t>(before);
  }
}

void BatchExecutor::CollectChanges() {
  changes_.clear();
  for (std::size_t i = 0; i < key_count_; ++i) {
    const Entry& entry = entries_[i];
    // What came and went within the batch, or was removed without having been there, concerns no one.
    if (!entry.changed || (!entry.current && entry.stored_bytes == 0)) continue;
    changes_.push_back({.key = KeyOf(entry), .record = entry.current, .stored_bytes = entry.stored_bytes});
  }
}

}  // namespace wafstate
