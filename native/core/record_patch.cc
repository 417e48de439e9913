#include "core/record_patch.h"

#include <algorithm>

#include "core/integer.h"
#include "core/record_layout.h"

namespace wafstate {

bool RecordPatch::Plan(std::span<std::uint8_t> record, const Request& request, const Write& write) {
  const std::span<const Mutation> mutations = request.mutations(write);
  header_ = record.data();
  variable_count_ = Load<std::uint16_t>(header_ + kVariableCountAt);
  if (mutations.empty() || mutations.size() > kMaxMutations || variable_count_ > kMaxVariables) return false;
  if (write.expectation == Expectation::kAbsent ||
      (write.expectation == Expectation::kRevision &&
       write.expected_revision != Load<std::uint64_t>(header_ + kRevisionAt))) {
    return false;
  }
  // An integer takes 8 bytes here, and up to 20 as a reader sees it: so far from the limit that it is not
  // met.
  if (request.record_bytes_limit() / 3 < record.size()) return false;

  const std::int64_t now = request.now();
  const bool has_timeout = (header_[kFlagsAt] & kHasTimeout) != 0;
  if (has_timeout && SaturatingAdd(Load<std::int64_t>(header_ + kUpdatedAt),
                                   Load<std::int64_t>(header_ + kRecordHeaderBytes)) <= now) {
    return false;
  }
  variables_ = header_ + VariablesOffset(header_);
  slot_count_ = 0;
  moves_deadlines_ = has_timeout;
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    const Mutation& mutation = mutations[i];
    const bool is_expire = mutation.operation == Operation::kExpire;
    if (!is_expire && mutation.operation != Operation::kAdd && mutation.operation != Operation::kSubtract) {
      return false;
    }
    Slot* const slot = SlotOf(mutation.name, static_cast<std::uint16_t>(i), now);
    if (slot == nullptr) return false;
    if (is_expire) {
      if (!slot->has_deadline) return false;
      if (mutation.only_if_none) continue;
      if (mutation.operand <= now) return false;
      moves_deadlines_ = moves_deadlines_ || slot->deadline != mutation.operand;
      slot->deadline = mutation.operand;
      continue;
    }
    const std::optional<std::int64_t> sum = mutation.operation == Operation::kAdd
                                                ? CheckedAdd(slot->integer, mutation.operand)
                                                : CheckedSubtract(slot->integer, mutation.operand);
    if (!sum) return false;
    slot->integer = *sum;
  }
  return true;
}

void RecordPatch::Publish(std::uint64_t revision, std::int64_t now, ReplyWriter& reply) const {
  Store(header_ + kRevisionAt, revision);
  Store(header_ + kUpdatedAt, std::max(Load<std::int64_t>(header_ + kUpdatedAt), now));
  const auto counts = Load<std::uint64_t>(header_ + kUpdateCountAt);
  if ((counts & kMaxUpdateCount) < kMaxUpdateCount) Store(header_ + kUpdateCountAt, counts + 1);
  reply.BeginWrite(true);
  for (const Slot& slot : std::span(slots_).first(slot_count_)) {
    Store(slot.integer_at, slot.integer);
    if (slot.has_deadline) Store(slot.deadline_at, slot.deadline);
    Variable variable;
    variable.kind = ValueKind::kInteger;
    variable.integer = slot.integer;
    variable.has_deadline = slot.has_deadline;
    variable.deadline = slot.deadline;
    reply.AddTouched(slot.first_mutation, variable);
  }
  reply.EndWrite(revision);
}

RecordPatch::Slot* RecordPatch::SlotOf(Bytes name, std::uint16_t mutation, std::int64_t now) {
  for (Slot& slot : std::span(slots_).first(slot_count_)) {
    if (Equal(slot.name, name)) return &slot;
  }
  if (slot_count_ == kMaxSlots) return nullptr;
  Slot& slot = slots_[slot_count_];
  if (!Find(name, now, slot)) return nullptr;
  slot.first_mutation = mutation;
  ++slot_count_;
  return &slot;
}

// Only an integer that is not expired.
bool RecordPatch::Find(Bytes name, std::int64_t now, Slot& slot) const {
  std::uint8_t* at = variables_;
  for (std::size_t i = 0; i < variable_count_; ++i) {
    const StoredVariable stored = StoredVariableAt(at);
    if (!Equal(Bytes(at + kVariableHeadBytes, stored.name_bytes), name)) {
      at += stored.bytes;
      continue;
    }
    if (stored.kind != ValueKind::kInteger) return false;
    slot.name = name;
    slot.has_deadline = stored.deadline_offset != 0;
    slot.deadline_at = at + stored.deadline_offset;
    slot.deadline = slot.has_deadline ? Load<std::int64_t>(slot.deadline_at) : 0;
    slot.integer_at = at + stored.value_offset;
    slot.integer = Load<std::int64_t>(slot.integer_at);
    return !slot.has_deadline || slot.deadline > now;
  }
  return false;
}

}  // namespace wafstate
