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
  const auto variable_of = [&](std::size_t i) {
    return VariableOf(mutations[i].name, static_cast<std::uint16_t>(i));
  };
  if (!ChangeInPlace(mutations, now, variable_of)) return false;
  for (const Slot& slot : std::span(slots_).first(slot_count_)) {
    if (!slot.variable.has_deadline) continue;
    // The answer does not show it then.
    if (slot.variable.deadline <= now) return false;
    moves_deadlines_ = moves_deadlines_ || Load<std::int64_t>(slot.deadline_at) != slot.variable.deadline;
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
    Store(slot.integer_at, slot.variable.integer);
    if (slot.variable.has_deadline) Store(slot.deadline_at, slot.variable.deadline);
    Variable variable;
    variable.kind = ValueKind::kInteger;
    variable.integer = slot.variable.integer;
    variable.has_deadline = slot.variable.has_deadline;
    variable.deadline = slot.variable.deadline;
    reply.AddTouched(slot.first_mutation, variable);
  }
  reply.EndWrite(revision);
}

InPlaceVariable* RecordPatch::VariableOf(Bytes name, std::uint16_t mutation) {
  for (Slot& slot : std::span(slots_).first(slot_count_)) {
    if (Equal(slot.name, name)) return &slot.variable;
  }
  if (slot_count_ == kMaxSlots) return nullptr;
  Slot& slot = slots_[slot_count_];
  if (!Find(name, slot)) return nullptr;
  slot.first_mutation = mutation;
  ++slot_count_;
  return &slot.variable;
}

// Only an integer.
bool RecordPatch::Find(Bytes name, Slot& slot) const {
  std::uint8_t* at = variables_;
  for (std::size_t i = 0; i < variable_count_; ++i) {
    const StoredVariable stored = StoredVariableAt(at);
    if (!Equal(Bytes(at + kVariableHeadBytes, stored.name_bytes), name)) {
      at += stored.bytes;
      continue;
    }
    if (stored.kind != ValueKind::kInteger) return false;
    slot.name = name;
    slot.deadline_at = at + stored.deadline_offset;
    slot.integer_at = at + stored.value_offset;
    slot.variable.is_integer = true;
    slot.variable.integer = Load<std::int64_t>(slot.integer_at);
    slot.variable.has_deadline = stored.deadline_offset != 0;
    slot.variable.deadline = slot.variable.has_deadline ? Load<std::int64_t>(slot.deadline_at) : 0;
    return true;
  }
  return false;
}

}  // namespace wafstate
