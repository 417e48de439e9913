// Hostile bytes for everything in the core that reads them. An input is
//
//   split:u16 record[split] batch
//
// so that the fuzzer reaches both grammars and what they do to each other. Seals are mended first: a fuzzer
// does not guess checksums. Beyond what sanitizers see, it holds the core to its own promises.

#include <cstdlib>

#include "core/apply.h"
#include "core/batch_executor.h"
#include "core/record.h"
#include "core/sweep.h"
#include "test/record_builder.h"

namespace {

using wafstate::Applier;
using wafstate::BatchExecutor;
using wafstate::BatchReader;
using wafstate::Buffer;
using wafstate::Bytes;
using wafstate::Corruption;
using wafstate::RecordSource;
using wafstate::RecordView;
using wafstate::RecordWriter;
using wafstate::Refusal;
using wafstate::ReplyWriter;
using wafstate::Request;
using wafstate::Status;
using wafstate::SweepOutcome;
using wafstate::Variable;
using wafstate::VariableCursor;

void Require(bool holds) {
  if (!holds) std::abort();
}

class OneRecord final : public RecordSource {
 public:
  explicit OneRecord(Bytes record) : record_(record) {}
  ReadResult Read(Bytes) override { return {.record = record_}; }
  std::uint64_t TakeRevision() override { return ++revision_; }

 private:
  Bytes record_;
  std::uint64_t revision_ = 0;
};

// What is accepted is canonical, so writing it gives the same bytes.
void CheckRoundTrip(const RecordView& view, Bytes record) {
  Buffer again;
  RecordWriter writer(again, view.name(), view.facts(), view.revision(), view.variable_count());
  VariableCursor cursor = view.variables();
  for (Variable variable; cursor.Next(variable);)
    writer.Add(variable);
  writer.Finish();
  Require(wafstate::Equal(again, record));
}

void CheckSweep(const RecordView& view, Bytes record) {
  const std::int64_t times[] = {view.facts().created, view.facts().updated, INT64_MAX};
  for (const std::int64_t now : times) {
    Buffer swept;
    const wafstate::SweepResult result = wafstate::Sweep(record, now, 1, swept);
    Require(result.corruption == Corruption::kNone);
    if (result.outcome == SweepOutcome::kRewritten) Require(RecordView().Open(swept) == Corruption::kNone);
  }
}

void CheckApply(Bytes record, Bytes request) {
  static Applier applier;
  Request parsed;
  if (!parsed.Parse(request)) return;
  for (const wafstate::Write& write : parsed.writes()) {
    Buffer result;
    Buffer answer;
    ReplyWriter reply(answer);
    reply.BeginAnswer();
    const Refusal refusal = applier.Apply(record, parsed, write, 9, result, reply);
    if (refusal.status != Status::kApplied) {
      Require(result.empty());
      continue;
    }
    RecordView view;
    Require(result.empty() || view.Open(result) == Corruption::kNone);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Bytes input = Bytes(data, size).subspan(2);
  const std::size_t split = std::min<std::size_t>(wafstate::Load<std::uint16_t>(data), input.size());
  // Copies of exactly their size, so that a sanitizer sees the first byte too many.
  Buffer record(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(split));
  record.shrink_to_fit();
  if (record.size() >= wafstate::kChecksumBytes) wafstate::test::Reseal(record);
  const Buffer batch(input.begin() + static_cast<std::ptrdiff_t>(split), input.end());

  RecordView view;
  if (view.Open(record) == Corruption::kNone) {
    CheckRoundTrip(view, record);
    CheckSweep(view, record);
  }
  BatchReader reader(batch);
  for (Bytes request; reader.Next(request);)
    CheckApply(record, request);

  static BatchExecutor executor;
  OneRecord source(record);
  executor.Begin(batch);
  executor.Execute(source);
  for (const wafstate::Change& change : executor.changes()) {
    Require(!change.record || view.Open(*change.record) == Corruption::kNone);
  }
  return 0;
}
