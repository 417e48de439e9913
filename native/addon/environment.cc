#include "addon/environment.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "addon/arguments.h"
#include "core/environment.h"
#include "core/environment_reader.h"
#include "core/environment_restore.h"
#include "core/environment_sweep.h"
#include "core/environment_writer.h"

namespace wafstate::addon {

namespace {

// What stands behind one handle.
struct Session {
  EnvironmentReference environment;
  bool read_only = false;
  std::optional<EnvironmentReader> reader;
  // Made with the first batch: most threads only read.
  std::optional<EnvironmentWriter> writer;
};

// The handles of one thread, given back when its JavaScript ends, however it ends.
struct Sessions {
  std::unordered_map<std::uint32_t, std::unique_ptr<Session>> open;
  std::uint32_t last_handle = 0;
  Fault fault;
};

Sessions& SessionsOf(const Napi::CallbackInfo& info) {
  return *static_cast<Sessions*>(info.Data());
}

// The negative answer of a call that failed.
Napi::Value Fail(const Napi::CallbackInfo& info, const Fault& fault) {
  SessionsOf(info).fault = fault;
  return Napi::Number::New(info.Env(), -static_cast<int>(fault.failure));
}

Napi::Value Answer(const Napi::CallbackInfo& info, const Fault& fault, std::size_t figure) {
  return fault ? Fail(info, fault) : Napi::Number::New(info.Env(), static_cast<double>(figure));
}

// The handle of the first argument; null where it is closed, which `answer` then tells, or no number.
Session* SessionArgument(const Napi::CallbackInfo& info, Napi::Value& answer) {
  const auto handle = IntegerArgument(info, 0, "handle");
  if (!handle) return nullptr;
  const auto& open = SessionsOf(info).open;
  const auto found = *handle <= UINT32_MAX ? open.find(static_cast<std::uint32_t>(*handle)) : open.end();
  if (found != open.end()) return found->second.get();
  answer = Fail(info, {.failure = Failure::kClosed, .step = "find the handle"});
  return nullptr;
}

// The same for a call that writes.
Session* WriterArgument(const Napi::CallbackInfo& info, Napi::Value& answer) {
  Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return nullptr;
  if (session->read_only) {
    answer = Fail(info, {.failure = Failure::kReadOnly, .step = "write"});
    return nullptr;
  }
  if (!session->writer) session->writer.emplace(*session->environment);
  return session;
}

// A scratch with what the caller has put at its start.
struct Scratch {
  std::span<std::uint8_t> bytes;
  Bytes key;
};

std::optional<Scratch> ScratchArgument(const Napi::CallbackInfo& info) {
  const auto bytes = BytesArgument(info, 1, "scratch");
  if (!bytes) return std::nullopt;
  const auto size = IntegerArgument(info, 2, "keyLength");
  if (!size) return std::nullopt;
  if (*size > bytes->size()) {
    Napi::TypeError::New(info.Env(), "keyLength is beyond scratch").ThrowAsJavaScriptException();
    return std::nullopt;
  }
  // The caller hands the scratch over to be written to.
  return Scratch{.bytes = {const_cast<std::uint8_t*>(bytes->data()), bytes->size()},
                 .key = bytes->first(*size)};
}

// Empty in a thread that is being terminated, which cannot make anything any more.
// Nothing where the thread is being terminated: then no value can be made, and nobody waits for one.
Napi::Value ToArrayBuffer(Napi::Env env, Bytes bytes) {
  void* data = nullptr;
  napi_value buffer = nullptr;
  if (napi_create_arraybuffer(env, bytes.size(), &data, &buffer) != napi_ok) return {};
  if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
  return {env, buffer};
}

class ObjectBuilder {
 public:
  explicit ObjectBuilder(Napi::Env env) : object_(Napi::Object::New(env)) {}
  ObjectBuilder& Number(const char* name, std::uint64_t value) {
    object_.Set(name, Napi::Number::New(object_.Env(), static_cast<double>(value)));
    return *this;
  }
  ObjectBuilder& Boolean(const char* name, bool value) {
    object_.Set(name, Napi::Boolean::New(object_.Env(), value));
    return *this;
  }
  ObjectBuilder& Text(const char* name, const char* value) {
    object_.Set(name, Napi::String::New(object_.Env(), value));
    return *this;
  }
  [[nodiscard]] Napi::Object object() const { return object_; }

 private:
  Napi::Object object_;
};

std::optional<std::uint64_t> IntegerField(Napi::Object options, const char* name, std::uint64_t most) {
  const Napi::Value value = options.Get(name);
  if (!value.IsNumber()) return std::nullopt;
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && number <= static_cast<double>(most))) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

std::optional<EnvironmentOptions> OptionsArgument(const Napi::CallbackInfo& info) {
  constexpr std::uint64_t kMaxInteger = (std::uint64_t{1} << 53) - 1;
  if (info[0].IsObject()) {
    const auto options = info[0].As<Napi::Object>();
    const Napi::Value path = options.Get("path");
    const Napi::Value relaxed = options.Get("relaxed");
    const Napi::Value read_only = options.Get("readOnly");
    const auto map_size = IntegerField(options, "mapSize", kMaxInteger);
    const auto max_readers = IntegerField(options, "maxReaders", UINT32_MAX);
    const auto mode = IntegerField(options, "mode", 0777);
    const auto wait = IntegerField(options, "waitMilliseconds", UINT32_MAX);
    if (path.IsString() && relaxed.IsBoolean() && read_only.IsBoolean() && map_size && max_readers && mode &&
        wait) {
      return EnvironmentOptions{.path = path.As<Napi::String>().Utf8Value(),
                                .map_size = *map_size,
                                .max_readers = static_cast<unsigned>(*max_readers),
                                .mode = static_cast<unsigned>(*mode),
                                .wait_milliseconds = static_cast<unsigned>(*wait),
                                .relaxed = relaxed.As<Napi::Boolean>().Value(),
                                .read_only = read_only.As<Napi::Boolean>().Value()};
    }
  }
  Napi::TypeError::New(
      info.Env(), "options must be { path, mapSize, maxReaders, mode, waitMilliseconds, relaxed, readOnly }")
      .ThrowAsJavaScriptException();
  return std::nullopt;
}

Napi::Value Open(const Napi::CallbackInfo& info) {
  const auto options = OptionsArgument(info);
  if (!options) return {};
  auto session = std::make_unique<Session>();
  session->read_only = options->read_only;
  if (const Fault fault = session->environment.Open(*options)) return Fail(info, fault);
  session->reader.emplace(*session->environment);
  Sessions& sessions = SessionsOf(info);
  sessions.open.emplace(++sessions.last_handle, std::move(session));
  return Napi::Number::New(info.Env(), sessions.last_handle);
}

Napi::Value IsOpen(const Napi::CallbackInfo& info) {
  if (!info[0].IsString()) {
    Napi::TypeError::New(info.Env(), "path must be a string").ThrowAsJavaScriptException();
    return {};
  }
  return Napi::Boolean::New(info.Env(), EnvironmentReference::IsOpen(info[0].As<Napi::String>().Utf8Value()));
}

Napi::Value Close(const Napi::CallbackInfo& info) {
  const auto handle = IntegerArgument(info, 0, "handle");
  if (!handle) return {};
  if (*handle <= UINT32_MAX) SessionsOf(info).open.erase(static_cast<std::uint32_t>(*handle));
  return Napi::Number::New(info.Env(), 0);
}

Napi::Value LastFailure(const Napi::CallbackInfo& info) {
  const Fault& fault = SessionsOf(info).fault;
  Napi::Object failure = ObjectBuilder(info.Env())
                             .Number("failure", static_cast<std::uint64_t>(fault.failure))
                             .Text("step", fault.step)
                             .Number("limit", fault.limit)
                             .Number("actual", fault.actual)
                             .object();
  failure.Set("code", Napi::Number::New(info.Env(), static_cast<double>(fault.code)));
  return failure;
}

Napi::Value Execute(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  Session* const session = WriterArgument(info, answer);
  if (session == nullptr) return answer;
  const auto writer = Int64Argument(info, 1, "writer");
  if (!writer) return {};
  const auto sequence = IntegerArgument(info, 2, "sequence");
  if (!sequence) return {};
  const auto batch = BytesArgument(info, 3, "batch");
  if (!batch) return {};
  Bytes reply;
  if (const Fault fault =
          session->writer->Execute(static_cast<std::uint64_t>(*writer), *sequence, *batch, reply)) {
    return Fail(info, fault);
  }
  return ToArrayBuffer(info.Env(), reply);
}

Napi::Value LastReply(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  const Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return answer;
  const auto writer = Int64Argument(info, 1, "writer");
  if (!writer) return {};
  const auto sequence = IntegerArgument(info, 2, "sequence");
  if (!sequence) return {};
  Buffer reply;
  switch (session->environment->replies().Find(static_cast<std::uint64_t>(*writer), *sequence, reply)) {
    case BatchState::kUnknown:
      return Napi::Number::New(info.Env(), 0);
    case BatchState::kRunning:
      return Napi::Number::New(info.Env(), 1);
    case BatchState::kDone:
      return ToArrayBuffer(info.Env(), reply);
  }
  return {};
}

Napi::Value ForgetWriter(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  const Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return answer;
  const auto writer = Int64Argument(info, 1, "writer");
  if (!writer) return {};
  session->environment->replies().Forget(static_cast<std::uint64_t>(*writer));
  return Napi::Number::New(info.Env(), 0);
}

Napi::Value Sync(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  const Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return answer;
  return Answer(info, session->environment->Sync(), 0);
}

Napi::Value LoadRecord(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return answer;
  const auto scratch = ScratchArgument(info);
  if (!scratch) return {};
  const auto now = Int64Argument(info, 3, "now");
  if (!now) return {};
  std::size_t size = 0;
  const Fault fault = session->reader->Load(scratch->key, *now, scratch->bytes, size);
  return Answer(info, fault, size);
}

Napi::Value LoadRaw(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return answer;
  const auto scratch = ScratchArgument(info);
  if (!scratch) return {};
  std::size_t size = 0;
  const Fault fault = session->reader->LoadRaw(scratch->key, scratch->bytes, size);
  return Answer(info, fault, size);
}

Napi::Value Delete(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  Session* const session = WriterArgument(info, answer);
  if (session == nullptr) return answer;
  const auto scratch = ScratchArgument(info);
  if (!scratch) return {};
  bool existed = false;
  const Fault fault = session->writer->Delete(scratch->key, existed);
  return Answer(info, fault, existed ? 1 : 0);
}

Napi::Value Scan(const Napi::CallbackInfo& info) {
  constexpr std::uint64_t kExclusive = 1;
  constexpr std::uint64_t kCorruptOnly = 2;
  Napi::Value answer;
  Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return answer;
  const auto scratch = ScratchArgument(info);
  if (!scratch) return {};
  const auto prefix = IntegerArgument(info, 3, "prefixLength");
  if (!prefix) return {};
  const auto limit = IntegerArgument(info, 4, "limit");
  if (!limit) return {};
  const auto flags = IntegerArgument(info, 5, "flags");
  if (!flags) return {};
  if (*prefix > scratch->bytes.size() - scratch->key.size()) {
    Napi::TypeError::New(info.Env(), "prefixLength is beyond scratch").ThrowAsJavaScriptException();
    return {};
  }
  const ScanQuery query{.from = scratch->key,
                        .exclusive = (*flags & kExclusive) != 0,
                        .prefix = scratch->bytes.subspan(scratch->key.size(), *prefix),
                        .limit = *limit,
                        .corrupt_only = (*flags & kCorruptOnly) != 0};
  std::size_t size = 0;
  const Fault fault = session->reader->Scan(query, scratch->bytes, size);
  return Answer(info, fault, size);
}

Napi::Value Stats(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  Session* const session = SessionArgument(info, answer);
  if (session == nullptr) return answer;
  EnvironmentFigures figures;
  if (const Fault fault = session->reader->Figures(figures)) return Fail(info, fault);
  return ObjectBuilder(info.Env())
      .Number("mapSize", figures.map_size)
      .Number("pageSize", figures.page_size)
      .Number("usedPages", figures.used_pages)
      .Number("freePages", figures.free_pages)
      .Number("fileBytes", figures.file_bytes)
      .Number("diskBytes", figures.disk_bytes)
      .Number("records", figures.records)
      .Number("readers", figures.readers)
      .Number("maxReaders", figures.max_readers)
      .Number("revision", figures.revision)
      .Boolean("relaxed", figures.relaxed)
      .object();
}

Napi::Value Cleanup(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  const Session* const session = WriterArgument(info, answer);
  if (session == nullptr) return answer;
  const auto now = Int64Argument(info, 1, "now");
  if (!now) return {};
  const auto records = IntegerArgument(info, 2, "records");
  if (!records) return {};
  const auto variables = IntegerArgument(info, 3, "variables");
  if (!variables) return {};
  const auto interval = Int64Argument(info, 4, "interval");
  if (!interval) return {};
  EnvironmentSweepResult result;
  const SweepBudget budget{.records = *records, .variables = *variables};
  if (const Fault fault = SweepEnvironment(*session->environment, *now, budget, *interval, result)) {
    return Fail(info, fault);
  }
  return ObjectBuilder(info.Env())
      .Boolean("skipped", result.skipped)
      .Number("recordsExamined", result.records_examined)
      .Number("recordsRemoved", result.records_removed)
      .Number("variablesRemoved", result.variables_removed)
      .Boolean("wrapped", result.wrapped)
      .object();
}

Napi::Value Restore(const Napi::CallbackInfo& info) {
  Napi::Value answer;
  const Session* const session = WriterArgument(info, answer);
  if (session == nullptr) return answer;
  const auto records = BytesArgument(info, 1, "records");
  if (!records) return {};
  const auto conflict = IntegerArgument(info, 2, "conflict");
  if (!conflict) return {};
  if (*conflict > static_cast<std::uint64_t>(RestoreConflict::kFail)) {
    Napi::TypeError::New(info.Env(), "conflict must be 0, 1 or 2").ThrowAsJavaScriptException();
    return {};
  }
  const auto now = Int64Argument(info, 3, "now");
  if (!now) return {};
  RestoreResult result;
  if (const Fault fault = RestoreRecords(*session->environment, *records,
                                         static_cast<RestoreConflict>(*conflict), *now, result)) {
    return Fail(info, fault);
  }
  return ObjectBuilder(info.Env())
      .Number("restored", result.restored)
      .Number("skipped", result.skipped)
      .Boolean("conflict", result.conflict)
      .object();
}

}  // namespace

void AddEnvironment(Napi::Env env, Napi::Object exports) {
  // Owned by the hook, which runs when the thread's JavaScript has ended, also by terminate() or a full heap.
  // No function is called after it.
  Sessions* const sessions = std::make_unique<Sessions>().release();
  env.AddCleanupHook([](Sessions* ended) { delete ended; }, sessions);
  const auto add = [&]<Napi::Value (*kFunction)(const Napi::CallbackInfo&)>(const char* name) {
    exports.Set(name, Napi::Function::New<kFunction>(env, name, sessions));
  };
  add.operator()<Open>("environmentOpen");
  add.operator()<IsOpen>("environmentIsOpen");
  add.operator()<Close>("environmentClose");
  add.operator()<LastFailure>("environmentFailure");
  add.operator()<Execute>("environmentExecute");
  add.operator()<LastReply>("environmentLastReply");
  add.operator()<ForgetWriter>("environmentForgetWriter");
  add.operator()<Sync>("environmentSync");
  add.operator()<LoadRecord>("environmentLoad");
  add.operator()<LoadRaw>("environmentLoadRaw");
  add.operator()<Delete>("environmentDelete");
  add.operator()<Scan>("environmentScan");
  add.operator()<Stats>("environmentStats");
  add.operator()<Cleanup>("environmentCleanup");
  add.operator()<Restore>("environmentRestore");
}

}  // namespace wafstate::addon
