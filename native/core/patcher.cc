#include "core/patcher.h"

#include <algorithm>

namespace wafstate {

namespace {

bool IsExpected(const Write& write, std::uint64_t revision) {
  return write.expectation == Expectation::kAny ||
         (write.expectation == Expectation::kRevision && write.expected_revision == revision);
}

}  // namespace

bool Patcher::Patch(Bytes existing, const Request& request, const Write& write, std::uint64_t revision,
                    Buffer& record, ReplyWriter& reply) {
  const std::span<const Mutation> mutations = request.mutations(write);
  if (!std::all_of(mutations.begin(), mutations.end(), MayBeInPlace)) return false;
  if (revision == 0 || revision > kMaxRevision) return false;
  RecordView view;
  if (view.OpenHeader(existing, seal_) != Corruption::kNone || !IsSame(view.name(), write.name)) return false;
  if (view.facts().IsTimedOut(request.now()) || !IsExpected(write, view.revision())) return false;
  if (!ReadPlaces(view, request.record_bytes_limit())) return false;

  touched_.clear();
  if (guesses_.size() < mutations.size()) guesses_.resize(mutations.size());
  const auto variable_of = [&](std::size_t i) { return VariableOf(mutations[i].name, i); };
  if (!ChangeInPlace(mutations, request.now(), variable_of)) return false;

  const std::size_t start = record.size();
  Append(record, existing);
  Store(record.data() + start + (view.variable_bytes().data() - existing.data()));
  UpdateRecord(std::span(record).subspan(start), revision, request.now(), seal_);
  WriteResult(revision, request.now(), reply);
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
         .variable = {.integer = variable.integer,
                      .deadline = variable.deadline,
                      .is_integer = is_integer,
                      .has_deadline = variable.has_deadline},
         .deadline_at = static_cast<std::uint32_t>(variable.name.data() + variable.name.size() - base),
         // The last thing of its variable.
         .integer_at = static_cast<std::uint32_t>(cursor.offset() - sizeof(std::int64_t)),
         .kind = variable.kind});
  }
  return cursor.corruption() == Corruption::kNone && size <= size_limit;
}

InPlaceVariable* Patcher::VariableOf(Bytes name, std::size_t mutation) {
  Place* const place = Find(name, guesses_[mutation]);
  if (place == nullptr) return nullptr;
  const auto index = static_cast<std::uint32_t>(place - places_.data());
  guesses_[mutation] = index;
  if (place->touched >= touched_.size() || touched_[place->touched].place != index) {
    place->touched = static_cast<std::uint32_t>(touched_.size());
    touched_.push_back({.place = index, .first_mutation = static_cast<std::uint16_t>(mutation)});
  }
  return &place->variable;
}

Patcher::Place* Patcher::Find(Bytes name, std::uint32_t guess) {
  if (guess < places_.size() && Equal(places_[guess].name, name)) return &places_[guess];
  const auto found =
      std::lower_bound(places_.begin(), places_.end(), name,
                       [](const Place& place, Bytes wanted) { return Compare(place.name, wanted) < 0; });
  return found != places_.end() && Equal(found->name, name) ? &*found : nullptr;
}

void Patcher::Store(std::uint8_t* variables) const {
  for (const Touched& touched : touched_) {
    const Place& place = places_[touched.place];
    if (place.variable.has_deadline) wafstate::Store(variables + place.deadline_at, place.variable.deadline);
    if (place.variable.is_integer) wafstate::Store(variables + place.integer_at, place.variable.integer);
  }
}

void Patcher::WriteResult(std::uint64_t revision, std::int64_t now, ReplyWriter& reply) const {
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
    variable.has_deadline = place.variable.has_deadline;
    variable.deadline = place.variable.deadline;
    variable.integer = place.variable.integer;
    at = variable.IsVisible(now) ? WriteTouched(at, touched.first_mutation, variable)
                                 : WriteHidden(at, touched.first_mutation);
  }
  reply.EndTouched(at, touched_.size());
  reply.EndWrite(revision);
}

}  // namespace wafstate
