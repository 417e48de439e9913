// What a mutation makes of a variable whose bytes stay where they are: a counter that is there counts on, a
// deadline that is there moves. The commonest commit has no other, and needs no record to be written anew.
// Held to `Applier` by tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/integer.h"
#include "core/request.h"

namespace wafstate {

// A stored variable, as the mutations so far leave it.
struct InPlaceVariable {
  std::int64_t integer = 0;
  std::int64_t deadline = 0;
  bool is_integer = false;
  bool has_deadline = false;
};

// Whether a mutation may be made in place at all, whatever it meets.
[[nodiscard]] inline bool MayBeInPlace(const Mutation& mutation) {
  return mutation.operation == Operation::kAdd || mutation.operation == Operation::kSubtract ||
         mutation.operation == Operation::kExpire;
}

// False where the mutation would change a length, or be refused or held at a bound: Applier knows which.
[[nodiscard]] inline bool ChangeInPlace(const Mutation& mutation, std::int64_t now,
                                        InPlaceVariable& variable) {
  // What is expired counts as absent.
  if (variable.has_deadline && variable.deadline <= now) return false;
  if (mutation.operation == Operation::kExpire) {
    if (!variable.has_deadline) return false;
    if (!mutation.only_if_none) variable.deadline = mutation.operand;
    return true;
  }
  if (!variable.is_integer || !MayBeInPlace(mutation)) return false;
  const std::optional<std::int64_t> sum = mutation.operation == Operation::kAdd
                                              ? CheckedAdd(variable.integer, mutation.operand)
                                              : CheckedSubtract(variable.integer, mutation.operand);
  if (!sum) return false;
  variable.integer = *sum;
  return true;
}

// All of a write, one after the other. `variable_of(index)` gives what the mutation at `index` names; null
// where it is not there.
template <typename VariableOf>
[[nodiscard]] bool ChangeInPlace(std::span<const Mutation> mutations, std::int64_t now,
                                 const VariableOf& variable_of) {
  for (std::size_t i = 0; i < mutations.size(); ++i) {
    InPlaceVariable* const variable = variable_of(i);
    if (variable == nullptr || !ChangeInPlace(mutations[i], now, *variable)) return false;
  }
  return true;
}

}  // namespace wafstate
