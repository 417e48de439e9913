#include "core/sweep.h"

namespace wafstate {

SweepResult Sweep(Bytes record, std::int64_t now, std::uint64_t revision, Buffer& swept, Seal seal) {
  SweepResult result;
  RecordView view;
  result.corruption = view.OpenHeader(record, seal);
  if (result.corruption != Corruption::kNone) return result;
  std::size_t expired = 0;
  VariableCursor cursor = view.variables();
  for (Variable variable; cursor.Next(variable);)
    expired += variable.IsExpired(now) ? 1 : 0;
  result.corruption = cursor.corruption();
  if (result.corruption != Corruption::kNone) return result;

  result.variables_examined = view.variable_count();
  if (view.facts().IsTimedOut(now) || expired == view.variable_count()) {
    result.outcome = SweepOutcome::kRemove;
    result.variables_removed = view.variable_count();
    return result;
  }
  if (expired == 0) return result;
  result.outcome = SweepOutcome::kRewritten;
  result.variables_removed = expired;
  RecordWriter writer(swept, view.name(), view.facts(), revision, view.variable_count() - expired);
  cursor = view.variables();
  for (Variable variable; cursor.Next(variable);) {
    if (!variable.IsExpired(now)) writer.Add(variable);
  }
  writer.Finish(seal);
  return result;
}

}  // namespace wafstate
