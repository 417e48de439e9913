#include "addon/shared_table.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "addon/arguments.h"
#include "core/record_key.h"
#include "core/shared_table.h"

namespace wafstate::addon {

namespace {

// A table that a thread has open, and where its JavaScript puts requests and keys, and finds replies and
// records.
struct Attachment {
  explicit Attachment(SharedTable& opened) : table(&opened) {}

  SharedTable* table;
  Napi::ObjectReference input_owner;
  Napi::ObjectReference output_owner;
  Bytes input;
  std::span<std::uint8_t> output;
};

// What one thread has of shared tables. It goes with the thread's environment; the tables do not.
struct ThreadState {
  // Index is handle; null once closed.
  std::vector<std::unique_ptr<Attachment>> open;
  // Calls of a thread follow one another, so one session and one output serve all its tables.
  TableSession session;
  Buffer output;
};

ThreadState& StateOf(const Napi::CallbackInfo& info) {
  return *static_cast<ThreadState*>(info.Data());
}

Napi::Value Number(Napi::Env env, double value) {
  return Napi::Number::New(env, value);
}

void Refuse(const Napi::CallbackInfo& info, const char* message) {
  Napi::TypeError::New(info.Env(), message).ThrowAsJavaScriptException();
}

// What the first argument is the handle of. Null where there is none, with a TypeError thrown.
Attachment* HandleArgument(const Napi::CallbackInfo& info) {
  const auto handle = IntegerArgument(info, 0, "handle");
  if (!handle) return nullptr;
  const auto& open = StateOf(info).open;
  if (*handle < open.size() && open[*handle] != nullptr) return open[*handle].get();
  Refuse(info, "handle is none that is open");
  return nullptr;
}

// What the two calls that every request makes are given: (handle, length, at), as many bytes at the start of
// the input, and a place in the output for the answer. Read by bare Node-API, since its C++ classes cost as
// much as the call itself.
struct RequestCall {
  ThreadState* state;
  Attachment* attachment;
  Bytes input;
  std::span<std::uint8_t> output;
};

std::optional<RequestCall> ReadRequestCall(napi_env env, napi_callback_info info) {
  constexpr std::size_t kArguments = 3;
  std::size_t count = kArguments;
  napi_value values[kArguments];
  void* data = nullptr;
  std::uint32_t numbers[kArguments];
  bool sound = napi_get_cb_info(env, info, &count, values, nullptr, &data) == napi_ok;
  for (std::size_t i = 0; sound && i < kArguments; ++i)
    sound = napi_get_value_uint32(env, values[i], &numbers[i]) == napi_ok;
  if (sound) {
    const auto [handle, length, at] = numbers;
    auto* const state = static_cast<ThreadState*>(data);
    Attachment* const attachment = handle < state->open.size() ? state->open[handle].get() : nullptr;
    if (attachment != nullptr && length <= attachment->input.size() && at <= attachment->output.size()) {
      return RequestCall{state, attachment, attachment->input.first(length), attachment->output.subspan(at)};
    }
  }
  napi_throw_type_error(env, nullptr, "no such handle, or length or at is beyond its buffer");
  return std::nullopt;
}

napi_value Number(napi_env env, std::int64_t value) {
  napi_value number = nullptr;
  return napi_create_int64(env, value, &number) == napi_ok ? number : nullptr;
}

void CopyOutput(const ThreadState& state, std::span<std::uint8_t> output) {
  const std::size_t size = state.output.size();
  if (size > 0 && size <= output.size()) std::memcpy(output.data(), state.output.data(), size);
}

Napi::Value SetInput(const Napi::CallbackInfo& info) {
  Attachment* const attachment = HandleArgument(info);
  if (attachment == nullptr) return {};
  const auto input = BytesArgument(info, 1, "input");
  if (!input) return {};
  attachment->input_owner = Napi::Persistent(info[1].As<Napi::Object>());
  attachment->input = *input;
  return info.Env().Undefined();
}

Napi::Value SetOutput(const Napi::CallbackInfo& info) {
  Attachment* const attachment = HandleArgument(info);
  if (attachment == nullptr) return {};
  const auto output = BytesArgument(info, 1, "output");
  if (!output) return {};
  attachment->output_owner = Napi::Persistent(info[1].As<Napi::Object>());
  // JavaScript hands it over to be written to.
  attachment->output = {const_cast<std::uint8_t*>(output->data()), output->size()};
  CopyOutput(StateOf(info), attachment->output);
  return info.Env().Undefined();
}

Napi::Value Open(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsString() || !info[3].IsBoolean()) {
    Refuse(info, "name must be a string and evicts a boolean");
    return {};
  }
  const auto max_bytes = IntegerArgument(info, 1, "maxBytes");
  if (!max_bytes) return {};
  const auto max_records = IntegerArgument(info, 2, "maxRecords");
  if (!max_records) return {};
  if (*max_bytes < SharedTable::kMinBytes || *max_records == 0) {
    Refuse(info, "maxBytes or maxRecords is too small");
    return {};
  }
  const TableOptions options{
      .max_bytes = *max_bytes, .max_records = *max_records, .evicts = info[3].As<Napi::Boolean>().Value()};
  SharedTable& table = OpenSharedTable(info[0].As<Napi::String>().Utf8Value(), options);
  auto& open = StateOf(info).open;
  open.push_back(std::make_unique<Attachment>(table));
  Napi::Object opened = Napi::Object::New(env);
  opened.Set("handle", Number(env, static_cast<double>(open.size() - 1)));
  opened.Set("maxBytes", Number(env, static_cast<double>(table.options().max_bytes)));
  opened.Set("maxRecords", Number(env, static_cast<double>(table.options().max_records)));
  opened.Set("evicts", Napi::Boolean::New(env, table.options().evicts));
  return opened;
}

Napi::Value Close(const Napi::CallbackInfo& info) {
  if (HandleArgument(info) == nullptr) return {};
  StateOf(info).open[info[0].As<Napi::Number>().Uint32Value()] = nullptr;
  return info.Env().Undefined();
}

napi_value Commit(napi_env env, napi_callback_info info) {
  const std::optional<RequestCall> call = ReadRequestCall(env, info);
  if (!call) return nullptr;
  ThreadState& state = *call->state;
  state.output.clear();
  call->attachment->table->Commit(call->input, state.session, state.output);
  CopyOutput(state, call->output);
  const auto size = static_cast<std::int64_t>(state.output.size());
  return Number(env, state.session.evicted() == EvictionCounts{} ? size : -size);
}

napi_value Load(napi_env env, napi_callback_info info) {
  const std::optional<RequestCall> call = ReadRequestCall(env, info);
  if (!call) return nullptr;
  // A key of two bytes or more is what the table relies on.
  RecordName name;
  if (!ParseRecordKey(call->input, name)) {
    napi_throw_type_error(env, nullptr, "the input is no record key");
    return nullptr;
  }
  const std::size_t size = call->attachment->table->LoadInto(call->input, call->output);
  return Number(env, static_cast<std::int64_t>(size));
}

Napi::Value Numbers(Napi::Env env, std::initializer_list<std::uint64_t> numbers) {
  Napi::Array array = Napi::Array::New(env, numbers.size());
  std::uint32_t index = 0;
  for (const std::uint64_t number : numbers)
    array.Set(index++, Number(env, static_cast<double>(number)));
  return array;
}

Napi::Value Report(const Napi::CallbackInfo& info) {
  const TableSession& session = StateOf(info).session;
  const EvictionCounts& evicted = session.evicted();
  return Numbers(info.Env(), {evicted[0], evicted[1], evicted[2], evicted[3],
                              static_cast<std::uint64_t>(session.bound())});
}

Napi::Value Stats(const Napi::CallbackInfo& info) {
  const Attachment* const attachment = HandleArgument(info);
  if (attachment == nullptr) return {};
  const TableStats stats = attachment->table->Stats();
  return Numbers(info.Env(), {stats.records, stats.bytes, stats.refused, stats.evicted[0], stats.evicted[1],
                              stats.evicted[2], stats.evicted[3]});
}

Napi::Value CleanUp(const Napi::CallbackInfo& info) {
  const Attachment* const attachment = HandleArgument(info);
  if (attachment == nullptr) return {};
  const auto now = Int64Argument(info, 1, "now");
  if (!now) return {};
  const auto records = IntegerArgument(info, 2, "records");
  if (!records) return {};
  const auto variables = IntegerArgument(info, 3, "variables");
  if (!variables) return {};
  SweepCounts counts;
  Buffer& buffer = StateOf(info).output;
  buffer.clear();
  const bool wrapped =
      attachment->table->CleanUp(*now, {.records = *records, .variables = *variables}, counts, buffer);
  return Numbers(info.Env(), {counts.records_examined, counts.records_removed, counts.variables_removed,
                              wrapped ? 1U : 0U});
}

Napi::Value ClaimSweep(const Napi::CallbackInfo& info) {
  const Attachment* const attachment = HandleArgument(info);
  if (attachment == nullptr) return {};
  const auto interval = IntegerArgument(info, 1, "interval");
  if (!interval) return {};
  return Napi::Boolean::New(info.Env(), attachment->table->ClaimSweep(*interval));
}

// A page that is being collected. JavaScript owns it.
struct Page {
  SharedTable* table;
  TableScan scan;
};

Napi::Value BeginScan(const Napi::CallbackInfo& info) {
  const Attachment* const attachment = HandleArgument(info);
  if (attachment == nullptr) return {};
  const auto prefix = BytesArgument(info, 1, "prefix");
  if (!prefix) return {};
  const auto after = BytesArgument(info, 2, "after");
  if (!after) return {};
  const auto limit = IntegerArgument(info, 3, "limit");
  if (!limit) return {};
  const auto now = Int64Argument(info, 4, "now");
  if (!now) return {};
  auto page = std::make_unique<Page>(Page{.table = attachment->table,
                                          .scan = {.prefix = Buffer(prefix->begin(), prefix->end()),
                                                   .after = Buffer(after->begin(), after->end()),
                                                   .limit = *limit,
                                                   .now = *now,
                                                   .hidden = info[5].ToBoolean().Value(),
                                                   .found = {}}});
  const auto finalize = [](Napi::Env, Page* owned) { std::unique_ptr<Page>(owned).reset(); };
  return Napi::External<Page>::New(info.Env(), page.release(), finalize);
}

Napi::Value GoOnWithScan(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (!info[0].IsExternal()) {
    Refuse(info, "scan must be what sharedTableBeginScan gave");
    return {};
  }
  const auto records = IntegerArgument(info, 1, "records");
  if (!records) return {};
  Page& page = *info[0].As<Napi::External<Page>>().Data();
  if (!page.table->Scan(page.scan, *records)) return env.Undefined();
  Napi::Array found = Napi::Array::New(env, page.scan.found.size());
  std::uint32_t index = 0;
  for (const auto& [key, record] : page.scan.found)
    found.Set(index++, Napi::Buffer<std::uint8_t>::Copy(env, record.data(), record.size()));
  Napi::Object result = Napi::Object::New(env);
  result.Set("records", found);
  result.Set("more", Napi::Boolean::New(env, page.scan.more));
  return result;
}

}  // namespace

void AddSharedTable(Napi::Env env, Napi::Object exports) {
  auto state = std::make_unique<ThreadState>();
  const auto add = [&](const char* name, Napi::Value (*function)(const Napi::CallbackInfo&)) {
    exports.Set(name, Napi::Function::New(env, function, name, state.get()));
  };
  add("sharedTableOpen", Open);
  add("sharedTableClose", Close);
  add("sharedTableSetInput", SetInput);
  add("sharedTableSetOutput", SetOutput);
  const auto add_bare = [&](const char* name, napi_callback function) {
    napi_value value = nullptr;
    if (napi_create_function(env, name, NAPI_AUTO_LENGTH, function, state.get(), &value) == napi_ok) {
      exports.Set(name, value);
    }
  };
  add_bare("sharedTableCommit", Commit);
  add_bare("sharedTableLoad", Load);
  add("sharedTableReport", Report);
  add("sharedTableStats", Stats);
  add("sharedTableCleanUp", CleanUp);
  add("sharedTableClaimSweep", ClaimSweep);
  add("sharedTableBeginScan", BeginScan);
  add("sharedTableGoOnWithScan", GoOnWithScan);
  env.AddCleanupHook([](ThreadState* owned) { std::unique_ptr<ThreadState>(owned).reset(); },
                     state.release());
}

}  // namespace wafstate::addon
