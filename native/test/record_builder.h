// Records and requests as tests spell them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "core/apply.h"
#include "core/checksum.h"
#include "core/record.h"
#include "core/reply.h"
#include "core/request.h"

namespace wafstate::test {

inline const RecordName kName{1, ToBytes("shop"), ToBytes("203.0.113.9")};

struct VariableSpec {
  std::string_view name;
  std::optional<std::string_view> value = {};
  std::optional<std::int64_t> deadline = {};
  std::int64_t clock = 0;
};

inline Buffer MakeRecord(const RecordFacts& facts, std::initializer_list<VariableSpec> variables,
                         std::uint64_t revision = 7, const RecordName& name = kName) {
  Buffer bytes;
  RecordWriter writer(bytes, name, facts, revision, variables.size());
  for (const VariableSpec& spec : variables) {
    Variable variable;
    variable.name = ToBytes(spec.name);
    if (spec.value) variable.SetValue(ToBytes(*spec.value));
    variable.has_deadline = spec.deadline.has_value();
    variable.deadline = spec.deadline.value_or(0);
    variable.clock = spec.clock;
    writer.Add(variable);
  }
  writer.Finish();
  return bytes;
}

// So that a test can damage a field without the checksum noticing first.
inline void Reseal(Buffer& record) {
  const Bytes content = Bytes(record).first(record.size() - kChecksumBytes);
  Store(record.data() + content.size(), Checksum(content));
}

// Writes the batch grammar. A write belongs to the request begun last, a mutation to the write begun last.
class BatchBuilder {
 public:
  struct WriteSpec {
    RecordName name = kName;
    Expectation expectation = Expectation::kAny;
    std::uint64_t revision = 0;
    std::optional<std::int64_t> timeout = {};
  };

  BatchBuilder& Begin(std::int64_t now, std::uint16_t variables = 4096,
                      std::uint32_t record_bytes = 1 << 21) {
    request_ = bytes_.size();
    Append(bytes_, std::uint32_t{0});
    Append(bytes_, record_bytes);
    Append(bytes_, variables);
    Append(bytes_, std::uint16_t{0});
    Append(bytes_, now);
    Seal();
    return *this;
  }

  BatchBuilder& AddWrite(const WriteSpec& spec) {
    Increment(request_ + 10);
    write_ = bytes_.size();
    Append(bytes_, spec.name.space);
    Append(bytes_, static_cast<std::uint8_t>(spec.name.application_id.size()));
    Append(bytes_, static_cast<std::uint16_t>(spec.name.key.size()));
    Append(bytes_, static_cast<std::uint8_t>(spec.expectation));
    Append(bytes_, static_cast<std::uint8_t>(spec.timeout ? 1 : 0));
    Append(bytes_, std::uint16_t{0});
    Append(bytes_, spec.revision);
    Append(bytes_, spec.timeout.value_or(0));
    Append(bytes_, spec.name.application_id);
    Append(bytes_, spec.name.key);
    Seal();
    return *this;
  }

  BatchBuilder& Write() { return AddWrite(WriteSpec()); }
  BatchBuilder& WriteTo(std::string_view key) {
    return AddWrite({.name = {1, ToBytes("shop"), ToBytes(key)}});
  }

  BatchBuilder& Set(std::string_view name, std::string_view value) {
    Mutate(Operation::kSet, name);
    Append(bytes_, static_cast<std::uint32_t>(value.size()));
    Append(bytes_, ToBytes(value));
    return Seal();
  }
  BatchBuilder& Remove(std::string_view name) { return Mutate(Operation::kRemove, name); }
  BatchBuilder& Add(std::string_view name, std::int64_t delta, bool saturates = false) {
    return Mutate(Operation::kAdd, name, {delta}, saturates ? 1 : 0);
  }
  BatchBuilder& Subtract(std::string_view name, std::int64_t delta, bool saturates = false) {
    return Mutate(Operation::kSubtract, name, {delta}, saturates ? 1 : 0);
  }
  BatchBuilder& Expire(std::string_view name, std::int64_t deadline, bool only_if_none = false) {
    return Mutate(Operation::kExpire, name, {deadline}, only_if_none ? 1 : 0);
  }
  BatchBuilder& Deprecate(std::string_view name, std::int64_t amount, std::int64_t period, std::int64_t at) {
    return Mutate(Operation::kDeprecate, name, {amount, period, at});
  }
  BatchBuilder& Timeout(std::int64_t duration) { return Mutate(Operation::kTimeout, "", {duration}); }
  BatchBuilder& RemoveRecord() { return Mutate(Operation::kRemoveRecord, ""); }

  [[nodiscard]] const Buffer& bytes() const { return bytes_; }

 private:
  BatchBuilder& Mutate(Operation operation, std::string_view name,
                       std::initializer_list<std::int64_t> operands = {}, std::uint8_t flags = 0) {
    Increment(write_ + 6);
    Append(bytes_, static_cast<std::uint8_t>(operation));
    Append(bytes_, flags);
    Append(bytes_, static_cast<std::uint16_t>(name.size()));
    Append(bytes_, ToBytes(name));
    for (const std::int64_t operand : operands)
      Append(bytes_, operand);
    return Seal();
  }

  void Increment(std::size_t at) {
    Store(bytes_.data() + at, static_cast<std::uint16_t>(Load<std::uint16_t>(bytes_.data() + at) + 1));
  }

  BatchBuilder& Seal() {
    Store(bytes_.data() + request_, static_cast<std::uint32_t>(bytes_.size() - request_));
    return *this;
  }

  Buffer bytes_;
  std::size_t request_ = 0;
  std::size_t write_ = 0;
};

struct Applied {
  Refusal refusal;
  Buffer record;
  Buffer answer;

  [[nodiscard]] Status status() const { return refusal.status; }
  [[nodiscard]] Corruption corruption() const { return static_cast<Corruption>(refusal.actual); }
};

// One request of one write, by an applier that has been used for all before: nothing of them may stay behind.
inline Applied Apply(std::optional<Bytes> existing, const Buffer& request, std::uint64_t revision = 8) {
  static Applier applier;
  Applied applied;
  Request parsed;
  ReplyWriter reply(applied.answer);
  reply.BeginAnswer();
  applied.refusal.status = Status::kMalformed;
  if (parsed.Parse(request)) {
    applied.refusal = applier.Apply(existing, parsed, parsed.writes()[0], revision, applied.record, reply);
  }
  if (applied.status() == Status::kApplied) {
    reply.FinishAnswer();
  } else {
    reply.Refuse(applied.refusal);
  }
  return applied;
}

}  // namespace wafstate::test
