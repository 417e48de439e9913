#include "core/patcher.h"

#include <algorithm>

#include "core/integer.h"

namespace wafstate {

namespace {

bool IsPatch(const Mutation& mutation) {
  return mutation.operation == Operation::kAdd || mutation.operation == Operation::kSubtract ||
         mutation.operation == Operation::kExpire;
}

bool IsExpected(const Write& write, std::uint64_t revision) {
  return write.expectation == Expectation::kAny ||
         (write.expectation == Expectation::kRevision && write.expected_revision == revision);
}

}  // namespace

bool Patcher::Patch(Bytes existing, const Request& request, const Write& write, std::uint64_t revision,
                    Buffer& record, ReplyWriter& reply) {
  const std::span<const Mutation> mutations = request.mutations(write);
  if (!std::all_of(mutations.begin(), mutations.end(), IsPatch)) return false;
  if (revision == 0 || revision > kMaxRevision) return false;
  RecordView view;
  if (view.OpenHeader(existing, seal_) != Corruption::kNone || !IsSame(view.name(), write.name)) return false;
  if (view.facts().IsTimedOut(request.now()) || !IsExpected(write, view.revision())) return false;
  if (!ReadPlaces(view, request.record_bytes_limit())) return false;

  const std::size_t start = record.size();
  Append(record, existing);
  std::uint8_t* const variables = record.data() + start + (view.variable_bytes().data() - existing.data());
  if (!Change(mutations, request.now(), variables)) {
    record.resize(start);
    return false;
  }
  UpdateRecord(std::span(record).subspan(start), revision, request.now(), seal_);
  WriteResult(revision, request.now(), variables, reply);
  return true;
}

// Whether the variables are sound, and no longer in all than the limit, an integer taken at its longest.
bool Patcher::ReadPlaces(const RecordView& view, std::size_t size_limit) {
  places_.clear();
  const std::uint8_t* const base = view.variable_bytes().data();
  VariableCursor cursor = view.variables();
  std::size_t size = 0;
  for (Variable variable; cursor.Next(variable);) {
    const bool is_integer = variable.kind == ValueKind::kInteger;
    size += variable.name.size() + (is_integer ? kMaxDecimalBytes : variable.bytes.size());
    places_.push_back(
        {.name = variable.name,
         .bytes = variable.bytes,
         .deadline = static_cast<std::uint32_t>(variable.name.data() + variable.name.size() - base),
         // The last thing of its variable.
         .integer = static_cast<std::uint32_t>(cursor.offset() - sizeof(std::int64_t)),
         .kind = variable.kind,
         .has_deadline = variable.has_deadline});
  }
  return cursor.corruption() == Corruption::kNone && size <= size_limit;
}

bool Patcher::Change(std::span<const Mutation> mutations, std::int64_t now, std::uint8_t* variables) {
  touched_.clear();
  if (guesses_.size() < mutations.size()) guesses_.resize(mutations.size());
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    const Mutation& mutation = mutations[i];
    Place* const place = Find(mutation.name, guesses_[i]);
    if (place == nullptr) return false;
    const auto index = static_cast<std::uint32_t>(place - places_.data());
    guesses_[i] = index;
    std::uint8_t* const deadline = variables + place->deadline;
    if (place->has_deadline && Load<std::int64_t>(deadline) <= now) return false;
    if (mutation.operation == Operation::kExpire) {
      if (!place->has_deadline) return false;
      if (!mutation.only_if_none) Store(deadline, mutation.operand);
    } else {
      if (place->kind != ValueKind::kInteger) return false;
      std::uint8_t* const integer = variables + place->integer;
      const auto current = Load<std::int64_t>(integer);
      const std::optional<std::int64_t> sum = mutation.operation == Operation::kAdd
                                                  ? CheckedAdd(current, mutation.operand)
                                                  : CheckedSubtract(current, mutation.operand);
      if (!sum) return false;
      Store(integer, *sum);
    }
    if (place->touched < touched_.size() && touched_[place->touched].place == index) continue;
    place->touched = static_cast<std::uint32_t>(touched_.size());
    touched_.push_back({.place = index, .first_mutation = static_cast<std::uint16_t>(i)});
  }
  return true;
}

Patcher::Place* Patcher::Find(Bytes name, std::uint32_t guess) {
  if (guess < places_.size() && Equal(places_[guess].name, name)) return &places_[guess];
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), name,
                       [](const Place& place, Bytes wanted) { return Compare(place.name, wanted) < 0; });
  return found != places_.end() && Equal(found->name, name) ? &*found : nullptr;
}

void Patcher::WriteResult(std::uint64_t revision, std::int64_t now, const std::uint8_t* variables,
                          ReplyWriter& reply) const {
  reply.BeginWrite(true);
  std::size_t most = 0;
  for (const Touched& touched : touched_)
    most += kMaxTouchedBytes + places_[touched.place].bytes.size();
  std::uint8_t* at = reply.BeginTouched(most);
  for (const Touched& touched : touched_) {
    const Place& place = places_[touched.place];
    Variable variable;
    variable.kind = place.kind;
    variable.bytes = place.bytes;
    variable.has_deadline = place.has_deadline;
    if (place.has_deadline) variable.deadline = Load<std::int64_t>(variables + place.deadline);
    if (place.kind == ValueKind::kInteger) variable.integer = Load<std::int64_t>(variables + place.integer);
    at = variable.IsVisible(now) ? WriteTouched(at, touched.first_mutation, variable)
                                 : WriteHidden(at, touched.first_mutation);
  }
  reply.EndTouched(at, touched_.size());
  reply.EndWrite(revision);
}

}  // namespace wafstate
