#include "core/apply.h"

#include <algorithm>

#include "core/integer.h"

namespace wafstate {

namespace {

std::int64_t IntegerOf(const Variable& variable) {
  return variable.kind == ValueKind::kInteger ? variable.integer : ParseInteger(variable.bytes);
}

// Such a mutation has no name and so no slot.
bool IsOfRecord(const Mutation& mutation) {
  return mutation.operation == Operation::kTimeout || mutation.operation == Operation::kRemoveRecord;
}

}  // namespace

Refusal Applier::Apply(std::optional<Bytes> existing, const Request& request, const Write& write,
                       std::uint64_t revision, Buffer& record, ReplyWriter& reply) {
  if (existing && patcher_.Patch(*existing, request, write, revision, record, reply)) return {};
  const std::span<const Mutation> mutations = request.mutations(write);
  now_ = request.now();
  new_timeout_ = write.timeout;
  SortIntoSlots(mutations);

  bool stored = existing.has_value();
  bool existed = stored;
  if (stored) {
    const Corruption corruption = ReadExisting(*existing, write.name);
    if (corruption != Corruption::kNone) {
      const bool removes_unseen = write.expectation == Expectation::kAny && !mutations.empty() &&
                                  mutations.front().operation == Operation::kRemoveRecord;
      if (!removes_unseen) {
        return {.status = Status::kCorruptRecord, .actual = static_cast<std::uint64_t>(corruption)};
      }
      stored = false;
    } else {
      existed = !facts_.IsTimedOut(now_);
    }
  }
  const bool live = stored && existed;
  const bool expected =
      write.expectation == Expectation::kAny || (write.expectation == Expectation::kAbsent && !live) ||
      (write.expectation == Expectation::kRevision && stored && revision_ == write.expected_revision);
  if (!expected) {
    return {.status = Status::kConflict, .limit = write.expected_revision, .actual = live ? revision_ : 0};
  }
  if (!live) {
    size_before_ = 0;
    BeginRecord(kStored);
  }

  const Refusal refusal = RunAll(mutations, request);
  if (refusal.status != Status::kApplied) return refusal;
  if (!removed_) {
    if (revision == 0 || revision > kMaxRevision)
      return {.status = Status::kRevisionsUsedUp, .limit = kMaxRevision};
    facts_.updated = std::max(facts_.updated, now_);
    facts_.update_count = std::min(facts_.update_count + 1, kMaxUpdateCount);
    WriteRecord(write.name, revision, record);
  }
  WriteResult(existed, removed_ ? 0 : revision, reply);
  return {};
}

void Applier::SortIntoSlots(std::span<const Mutation> mutations) {
  by_name_.clear();
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    if (!IsOfRecord(mutations[i])) by_name_.push_back(static_cast<std::uint32_t>(i));
  }
  std::sort(by_name_.begin(), by_name_.end(), [mutations](std::uint32_t a, std::uint32_t b) {
    const int order = Compare(mutations[a].name, mutations[b].name);
    return order != 0 ? order < 0 : a < b;
  });
  slots_.clear();
  slot_of_.assign(mutations.size(), 0);
  for (const std::uint32_t mutation : by_name_) {
    const Bytes name = mutations[mutation].name;
    if (slots_.empty() || !Equal(slots_.back().variable.name, name)) {
      Slot& slot = slots_.emplace_back();
      slot.variable.name = name;
      slot.first_mutation = mutation;
    }
    slot_of_[mutation] = static_cast<std::uint32_t>(slots_.size() - 1);
  }
  rest_ = Rest();
  count_ = 0;
  expired_ = 0;
  size_before_ = 0;
  removed_ = false;
  ended_at_ = kNever;
  dropped_at_ = kNever;
}

Corruption Applier::ReadExisting(Bytes existing, const RecordName& name) {
  RecordView view;
  const Corruption corruption = view.OpenHeader(existing, seal_);
  if (corruption != Corruption::kNone) return corruption;
  facts_ = view.facts();
  revision_ = view.revision();
  rest_.variables = view.variable_bytes();
  count_ = view.variable_count();

  VariableCursor cursor = view.variables();
  std::size_t offset = 0;
  auto slot = slots_.begin();
  for (Variable variable; cursor.Next(variable); offset = cursor.offset()) {
    int order = -1;
    for (; slot != slots_.end(); ++slot) {
      order = Compare(variable.name, slot->variable.name);
      if (order <= 0) break;
      slot->offset = offset;
    }
    const std::size_t size = variable.VisibleBytes();
    const bool is_expired = variable.IsExpired(now_);
    size_before_ += size;
    if (is_expired) ++expired_;
    if (slot != slots_.end() && order == 0) {
      slot->variable = variable;
      slot->present = true;
      slot->written = kStored;
      slot->offset = offset;
      slot->size = cursor.offset() - offset;
      ++slot;
    } else {
      rest_.size += size;
      if (is_expired) {
        ++rest_.expired;
        rest_.expired_size += size;
      }
    }
  }
  for (; slot != slots_.end(); ++slot)
    slot->offset = offset;
  if (cursor.corruption() != Corruption::kNone) return cursor.corruption();
  return IsSame(view.name(), name) ? Corruption::kNone : Corruption::kOtherName;
}

void Applier::BeginRecord(Stamp ended_at) {
  ended_at_ = ended_at;
  facts_ = {.created = now_, .updated = now_, .update_count = 0, .timeout = new_timeout_};
  rest_ = Rest();
  count_ = 0;
  expired_ = 0;
}

Refusal Applier::RunAll(std::span<const Mutation> mutations, const Request& request) {
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    const Mutation& mutation = mutations[i];
    removed_ = mutation.operation == Operation::kRemoveRecord;
    if (removed_) {
      BeginRecord(StampOf(i));
    } else if (mutation.operation == Operation::kTimeout) {
      facts_.timeout.reset();
      if (mutation.operand != 0) facts_.timeout = mutation.operand;
    } else {
      const Refusal refusal = RunOne(mutation, i, request.variables_limit());
      if (refusal.status != Status::kApplied) return refusal;
    }
  }
  return removed_ ? Refusal() : FitSize(request.record_bytes_limit(), mutations.size());
}

Refusal Applier::RunOne(const Mutation& mutation, std::size_t index, std::size_t variables_limit) {
  Slot& slot = slots_[slot_of_[index]];
  const bool was_stored = IsStored(slot);
  const bool was_expired = was_stored && slot.variable.IsExpired(now_);
  if (!Mutate(mutation, slot, was_stored && !was_expired)) {
    return {.status = Status::kOverflow, .mutation = static_cast<std::uint32_t>(index)};
  }
  if (slot.present && !was_stored && count_ >= variables_limit) {
    DropExpired(StampOf(index));
    if (count_ >= variables_limit) {
      return {.status = Status::kTooManyVariables,
              .mutation = static_cast<std::uint32_t>(index),
              .limit = variables_limit,
              .actual = variables_limit + 1};
    }
  }
  slot.written = StampOf(index);
  count_ = count_ + (slot.present ? 1 : 0) - (was_stored ? 1 : 0);
  expired_ = expired_ + (slot.present && slot.variable.IsExpired(now_) ? 1 : 0) - (was_expired ? 1 : 0);
  return {};
}

// The rules of src/contract/variable.ts. `live`: the slot holds a variable that is not expired. False: the
// sum is out of range.
bool Applier::Mutate(const Mutation& mutation, Slot& slot, bool live) const {
  Variable& variable = slot.variable;
  if (!live) {
    const Bytes name = variable.name;
    variable = Variable();
    variable.name = name;
  }
  const auto set_integer = [this, &variable](std::int64_t value) {
    if (variable.kind == ValueKind::kNone) variable.clock = now_;
    variable.kind = ValueKind::kInteger;
    variable.integer = value;
    variable.bytes = Bytes();
  };
  const auto set_sum = [&set_integer](std::optional<std::int64_t> sum) {
    if (sum) set_integer(*sum);
    return sum.has_value();
  };
  const std::int64_t current = variable.kind == ValueKind::kNone ? 0 : IntegerOf(variable);

  slot.present = true;
  switch (mutation.operation) {
    case Operation::kSet:
      if (variable.kind == ValueKind::kNone) variable.clock = now_;
      variable.SetValue(mutation.value);
      return true;
    case Operation::kRemove:
      slot.present = false;
      return true;
    case Operation::kAdd:
      return set_sum(mutation.saturates ? SaturatingAdd(current, mutation.operand)
                                        : CheckedAdd(current, mutation.operand));
    case Operation::kSubtract:
      return set_sum(mutation.saturates ? SaturatingSubtract(current, mutation.operand)
                                        : CheckedSubtract(current, mutation.operand));
    case Operation::kExpire:
      if (mutation.only_if_none && variable.has_deadline) return true;
      variable.has_deadline = true;
      variable.deadline = mutation.operand;
      return true;
    case Operation::kDeprecate: {
      slot.present = live;
      if (variable.kind == ValueKind::kNone) return true;
      // The clock moves also where there is nothing to forgive: idle time is not saved up.
      const std::uint64_t periods = WholePeriods(variable.clock, mutation.at, mutation.period);
      if (periods > 0 && current > 0) set_integer(Decayed(current, mutation.operand, periods));
      variable.clock = static_cast<std::int64_t>(static_cast<std::uint64_t>(variable.clock) +
                                                 periods * static_cast<std::uint64_t>(mutation.period));
      return true;
    }
    case Operation::kTimeout:
    case Operation::kRemoveRecord:
      break;
  }
  return true;
}

Refusal Applier::FitSize(std::size_t limit, std::size_t mutation_count) {
  if (StoredSize() <= limit) return {};
  DropExpired(StampOf(mutation_count));
  const std::size_t size = StoredSize();
  if (size <= limit || size <= size_before_) return {};
  return {.status = Status::kRecordTooLarge, .limit = limit, .actual = size};
}

// All that is expired and was written before: in slots it is gone by its stamp.
void Applier::DropExpired(Stamp before) {
  dropped_at_ = before - 1;
  count_ -= expired_;
  expired_ = 0;
  rest_.size -= rest_.expired_size;
  rest_.expired_size = 0;
}

bool Applier::IsStored(const Slot& slot) const {
  return slot.present && slot.written > ended_at_ &&
         (slot.written > dropped_at_ || !slot.variable.IsExpired(now_));
}

std::size_t Applier::StoredSize() const {
  std::size_t size = rest_.size;
  for (const Slot& slot : slots_) {
    if (IsStored(slot)) size += slot.variable.VisibleBytes();
  }
  return size;
}

void Applier::WriteRecord(const RecordName& name, std::uint64_t revision, Buffer& record) const {
  RecordWriter writer(record, name, facts_, revision, count_);
  WriteVariables(writer);
  writer.Finish(seal_);
}

void Applier::WriteVariables(RecordWriter& writer) const {
  // Where variables of the rest were dropped, the runs between the slots have holes.
  const bool has_holes = rest_.expired > 0 && dropped_at_ != kNever;
  const auto copy = [this, has_holes, &writer](std::size_t from, std::size_t to) {
    const Bytes run = rest_.variables.subspan(from, to - from);
    if (!has_holes) {
      writer.AddEncoded(run);
      return;
    }
    VariableCursor cursor(run, kMaxVariables, facts_.created);
    for (Variable variable; cursor.offset() < run.size() && cursor.Next(variable);) {
      if (!variable.IsExpired(now_)) writer.Add(variable);
    }
  };
  const bool has_rest = !rest_.variables.empty();
  std::size_t copied = 0;
  for (const Slot& slot : slots_) {
    if (has_rest) {
      copy(copied, slot.offset);
      copied = slot.offset + slot.size;
    }
    if (IsStored(slot)) writer.Add(slot.variable);
  }
  copy(copied, rest_.variables.size());
}

void Applier::WriteResult(bool existed, std::uint64_t revision, ReplyWriter& reply) const {
  reply.BeginWrite(existed);
  // A mutation of the record has no slot: it says slot 0, which some other mutation was the first to touch.
  for (std::size_t i = 0; i < slot_of_.size() && !slots_.empty(); ++i) {
    const Slot& slot = slots_[slot_of_[i]];
    if (slot.first_mutation != i) continue;
    if (IsStored(slot) && slot.variable.IsVisible(now_)) {
      reply.AddTouched(static_cast<std::uint16_t>(i), slot.variable);
    } else {
      reply.AddHidden(static_cast<std::uint16_t>(i));
    }
  }
  reply.EndWrite(revision);
}

}  // namespace wafstate
