#include "addon/record_object.h"

#include <vector>

#include "addon/arguments.h"
#include "core/integer.h"

namespace wafstate::addon {

namespace {

Napi::Value Int64(Napi::Env env, std::int64_t value) {
  return Napi::BigInt::New(env, value);
}

Napi::Value Integer(Napi::Env env, std::uint64_t value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

Napi::Value ValueOf(Napi::Env env, const Variable& variable) {
  switch (variable.kind) {
    case ValueKind::kInteger:
      return ByteString(env, Decimal(variable.integer).bytes());
    case ValueKind::kBytes:
      return ByteString(env, variable.bytes);
    case ValueKind::kNone:
      break;
  }
  return env.Undefined();
}

// A variable whose bytes were copied out of JavaScript.
struct OwnedVariable {
  Buffer name;
  std::optional<Buffer> value;
  std::optional<std::int64_t> deadline;
  std::optional<std::int64_t> clock;
};

// Reads an object's properties. After the first that is not what it should be an exception is pending,
// failed() is true, and nothing is read any more.
class ObjectReader {
 public:
  explicit ObjectReader(const Napi::Value& value) : env_(value.Env()) {
    if (value.IsObject()) {
      object_ = value.As<Napi::Object>();
    } else {
      Fail("record", "an object");
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }

  std::uint64_t Integer(const char* name, std::uint64_t limit) {
    const std::optional<std::uint64_t> value = Read(object_, name, name, IntegerArgument);
    if (value && *value > limit) Fail(name, "within its range");
    return value.value_or(0);
  }

  std::int64_t Int64(const char* name) { return Read(object_, name, name, Int64Argument).value_or(0); }

  std::optional<std::int64_t> OptionalInt64(const char* name) {
    return ReadOptional(object_, name, name, Int64Argument);
  }

  Buffer String(const char* name, std::size_t limit) {
    Buffer value = Read(object_, name, name, ByteStringArgument).value_or(Buffer());
    if (value.size() > limit) Fail(name, "within its length");
    return value;
  }

  std::vector<OwnedVariable> Variables() {
    std::vector<OwnedVariable> variables;
    const Napi::Object names = Array("names");
    const Napi::Object values = Array("values");
    const Napi::Object deadlines = Array("deadlines");
    const Napi::Object clocks = Array("clocks");
    if (failed_) return variables;
    const std::uint32_t count = names.As<Napi::Array>().Length();
    if (count > kMaxVariables) Fail("names", "an array of at most 65535");
    for (std::uint32_t i = 0; i < count && !failed_; ++i) {
      OwnedVariable& variable = variables.emplace_back();
      variable.name = Read(names, i, "names", ByteStringArgument).value_or(Buffer());
      variable.value = ReadOptional(values, i, "values", ByteStringArgument);
      variable.deadline = ReadOptional(deadlines, i, "deadlines", Int64Argument);
      variable.clock = ReadOptional(clocks, i, "clocks", Int64Argument);
      if (variable.name.size() > kMaxNameBytes) Fail("names", "strings of at most 65535 bytes");
    }
    return variables;
  }

 private:
  void Fail(const char* name, const char* wanted) {
    // An exception that is pending already, from a getter, is the one to report.
    if (!failed_) ThrowTypeError(env_, name, wanted);
    failed_ = true;
  }

  Napi::Object Array(const char* name) {
    if (failed_) return {};
    const Napi::Value value = object_.Get(name);
    if (value.IsEmpty()) {
      failed_ = true;
      return {};
    }
    if (!value.IsArray()) {
      Fail(name, "an array");
      return {};
    }
    return value.As<Napi::Object>();
  }

  template <typename Key, typename T>
  std::optional<T> Read(const Napi::Object& from, Key key, const char* name,
                        std::optional<T> (*convert)(const Napi::Value&, const char*), bool optional = false) {
    if (failed_) return std::nullopt;
    const Napi::Value value = from.Get(key);
    if (value.IsEmpty()) {
      failed_ = true;
      return std::nullopt;
    }
    if (optional && value.IsUndefined()) return std::nullopt;
    std::optional<T> converted = convert(value, name);
    if (!converted) failed_ = true;
    return converted;
  }

  template <typename Key, typename T>
  std::optional<T> ReadOptional(const Napi::Object& from, Key key, const char* name,
                                std::optional<T> (*convert)(const Napi::Value&, const char*)) {
    return Read(from, key, name, convert, true);
  }

  Napi::Env env_;
  Napi::Object object_;
  bool failed_ = false;
};

// What the writer cannot express and so would leave out without a word.
Corruption CheckShape(const OwnedVariable& variable) {
  if (!variable.value) {
    return variable.clock || !variable.deadline ? Corruption::kValueless : Corruption::kNone;
  }
  return variable.clock ? Corruption::kNone : Corruption::kClock;
}

}  // namespace

Napi::Value ByteString(Napi::Env env, Bytes bytes) {
  // The null pointer of an empty span is no string.
  const char* const characters = bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data());
  napi_value string = nullptr;
  const napi_status status = napi_create_string_latin1(env, characters, bytes.size(), &string);
  NAPI_THROW_IF_FAILED(env, status, Napi::Value());
  return {env, string};
}

Napi::Value RecordToObject(Napi::Env env, const RecordView& record) {
  const RecordFacts& facts = record.facts();
  Napi::Array names = Napi::Array::New(env, record.variable_count());
  Napi::Array values = Napi::Array::New(env, record.variable_count());
  Napi::Array deadlines = Napi::Array::New(env, record.variable_count());
  Napi::Array clocks = Napi::Array::New(env, record.variable_count());
  VariableCursor cursor = record.variables();
  std::uint32_t index = 0;
  for (Variable variable; cursor.Next(variable); ++index) {
    // Up to 65,535 variables: their handles must not all wait for the end of the call.
    const Napi::HandleScope scope(env);
    const bool has_clock = variable.kind != ValueKind::kNone;
    names.Set(index, ByteString(env, variable.name));
    values.Set(index, ValueOf(env, variable));
    deadlines.Set(index, variable.has_deadline ? Int64(env, variable.deadline) : env.Undefined());
    clocks.Set(index, has_clock ? Int64(env, variable.clock) : env.Undefined());
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("space", Integer(env, record.name().space));
  object.Set("applicationId", ByteString(env, record.name().application_id));
  object.Set("key", ByteString(env, record.name().key));
  object.Set("revision", Integer(env, record.revision()));
  object.Set("created", Int64(env, facts.created));
  object.Set("updated", Int64(env, facts.updated));
  object.Set("updateCount", Integer(env, facts.update_count));
  object.Set("timeout", facts.timeout ? Int64(env, *facts.timeout) : env.Undefined());
  object.Set("names", names);
  object.Set("values", values);
  object.Set("deadlines", deadlines);
  object.Set("clocks", clocks);
  return object;
}

std::optional<Corruption> EncodeObject(const Napi::Value& value, Buffer& bytes) {
  ObjectReader reader(value);
  const std::uint64_t space = reader.Integer("space", 255);
  const Buffer application_id = reader.String("applicationId", kMaxApplicationIdBytes);
  const Buffer key = reader.String("key", kMaxKeyBytes);
  const std::uint64_t revision = reader.Integer("revision", kMaxRevision);
  RecordFacts facts;
  facts.created = reader.Int64("created");
  facts.updated = reader.Int64("updated");
  facts.update_count = reader.Integer("updateCount", kMaxUpdateCount);
  facts.timeout = reader.OptionalInt64("timeout");
  const std::vector<OwnedVariable> variables = reader.Variables();
  if (reader.failed()) return std::nullopt;

  const RecordName name{static_cast<std::uint8_t>(space), application_id, key};
  const std::size_t start = bytes.size();
  RecordWriter writer(bytes, name, facts, revision, variables.size());
  for (const OwnedVariable& owned : variables) {
    const Corruption shape = CheckShape(owned);
    if (shape != Corruption::kNone) {
      bytes.resize(start);
      return shape;
    }
    Variable variable;
    variable.name = owned.name;
    if (owned.value) variable.SetValue(*owned.value);
    variable.has_deadline = owned.deadline.has_value();
    variable.deadline = owned.deadline.value_or(0);
    variable.clock = owned.clock.value_or(0);
    writer.Add(variable);
  }
  writer.Finish();
  // Reading is the judge of what may be written.
  RecordView view;
  const Corruption corruption = view.Open(Bytes(bytes).subspan(start));
  if (corruption != Corruption::kNone) bytes.resize(start);
  return corruption;
}

}  // namespace wafstate::addon
