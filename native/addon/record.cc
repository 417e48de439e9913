#include "addon/record.h"

#include <memory>
#include <optional>

#include "addon/arguments.h"
#include "addon/record_object.h"
#include "core/apply.h"

namespace wafstate::addon {

namespace {

// What recordApply keeps from call to call, once for each thread that has loaded the addon.
struct ApplyState {
  Applier applier;
  Request request;
  // What one request makes of the record, and what those applied so far have left.
  Buffer record;
  Buffer applied;
  Buffer answer;
};

// Appends the answer to `state.answer`. Whether the request was applied, the record being in `state.record`:
// empty where it was removed.
bool ApplyOne(ApplyState& state, std::optional<Bytes> existing, Bytes request, std::uint64_t revision) {
  state.record.clear();
  ReplyWriter reply(state.answer);
  reply.BeginAnswer();
  Refusal refusal{.status = Status::kMalformed};
  if (state.request.Parse(request) && state.request.writes().size() == 1) {
    refusal = state.applier.Apply(existing, state.request, state.request.writes()[0], revision, state.record,
                                  reply);
  }
  if (refusal.status != Status::kApplied) {
    reply.Refuse(refusal);
    return false;
  }
  reply.FinishAnswer();
  return true;
}

// Whether any request was applied, the record that the last of them left being in `state.applied`.
bool ApplyAll(ApplyState& state, std::optional<Bytes> existing, Bytes requests, std::uint64_t revision) {
  state.answer.clear();
  bool applied = false;
  BatchReader reader(requests);
  Bytes request;
  // No bytes at all are one malformed request.
  bool more = reader.Next(request) || requests.empty();
  for (; more; more = reader.Next(request), ++revision) {
    if (!ApplyOne(state, existing, request, revision)) continue;
    applied = true;
    state.applied.swap(state.record);
    existing.reset();
    if (!state.applied.empty()) existing = Bytes(state.applied);
  }
  return applied;
}

// (existing: Uint8Array | undefined, requests: Uint8Array, revision: number)
//     -> {record: Uint8Array | undefined, answer: Uint8Array}
Napi::Value RecordApply(const Napi::CallbackInfo& info, ApplyState& state) {
  const Napi::Env env = info.Env();
  std::optional<Bytes> existing;
  if (!info[0].IsUndefined()) {
    existing = BytesArgument(info, 0, "existing");
    if (!existing) return {};
  }
  const std::optional<Bytes> requests = BytesArgument(info, 1, "requests");
  if (!requests) return {};
  const std::optional<std::uint64_t> revision = IntegerArgument(info, 2, "revision");
  if (!revision) return {};

  const bool has_record = ApplyAll(state, existing, *requests, *revision) && !state.applied.empty();
  Napi::Object result = Napi::Object::New(env);
  Napi::Value record = env.Undefined();
  if (has_record) {
    record = Napi::Buffer<std::uint8_t>::Copy(env, state.applied.data(), state.applied.size());
  }
  result.Set("record", record);
  result.Set("answer", Napi::Buffer<std::uint8_t>::Copy(env, state.answer.data(), state.answer.size()));
  return result;
}

Napi::Value Reason(Napi::Env env, Corruption corruption) {
  return Napi::Number::New(env, static_cast<double>(corruption));
}

// (bytes: Uint8Array) -> object | number: the reason of corruption
Napi::Value RecordDecode(const Napi::CallbackInfo& info) {
  const std::optional<Bytes> bytes = BytesArgument(info, 0, "bytes");
  if (!bytes) return {};
  RecordView record;
  const Corruption corruption = record.Open(*bytes);
  if (corruption != Corruption::kNone) return Reason(info.Env(), corruption);
  return RecordToObject(info.Env(), record);
}

// (bytes: Uint8Array) -> number: 0 or the reason of corruption
Napi::Value RecordCheck(const Napi::CallbackInfo& info) {
  const std::optional<Bytes> bytes = BytesArgument(info, 0, "bytes");
  if (!bytes) return {};
  RecordView record;
  return Reason(info.Env(), record.Open(*bytes));
}

// (record: object) -> Uint8Array | number: the reason why it is none
Napi::Value RecordEncode(const Napi::CallbackInfo& info) {
  Buffer bytes;
  const std::optional<Corruption> corruption = EncodeObject(info[0], bytes);
  if (!corruption) return {};
  if (*corruption != Corruption::kNone) return Reason(info.Env(), *corruption);
  return Napi::Buffer<std::uint8_t>::Copy(info.Env(), bytes.data(), bytes.size());
}

}  // namespace

void AddRecord(Napi::Env env, Napi::Object exports) {
  // The function owns its state: it goes with the thread's environment.
  const auto state = std::make_shared<ApplyState>();
  exports.Set(
      "recordApply",
      Napi::Function::New(
          env, [state](const Napi::CallbackInfo& info) { return RecordApply(info, *state); }, "recordApply"));
  exports.Set("recordDecode", Napi::Function::New<RecordDecode>(env, "recordDecode"));
  exports.Set("recordCheck", Napi::Function::New<RecordCheck>(env, "recordCheck"));
  exports.Set("recordEncode", Napi::Function::New<RecordEncode>(env, "recordEncode"));
}

}  // namespace wafstate::addon
