#include "core/record.h"

#include <algorithm>

#include "core/checksum.h"
#include "core/integer.h"
#include "core/record_layout.h"

namespace wafstate {

namespace {

constexpr std::uint8_t kTagMask = kKindMask | kHasDeadline | kHasClock;

// The update count and the variable count share eight bytes: 48 bits and 16.
constexpr int kUpdateCountBits = 48;

}  // namespace

void Variable::SetValue(Bytes value) {
  const std::optional<std::int64_t> number = ParseCanonical(value);
  kind = number ? ValueKind::kInteger : ValueKind::kBytes;
  integer = number.value_or(0);
  bytes = number ? Bytes() : value;
}

std::size_t Variable::VisibleBytes() const {
  switch (kind) {
    case ValueKind::kInteger:
      return name.size() + DecimalBytes(integer);
    case ValueKind::kBytes:
      return name.size() + bytes.size();
    case ValueKind::kNone:
      break;
  }
  return name.size();
}

bool RecordFacts::IsTimedOut(std::int64_t now) const {
  return timeout && SaturatingAdd(updated, *timeout) <= now;
}

bool VariableCursor::Next(Variable& variable) {
  if (corruption_ != Corruption::kNone) return false;
  if (left_ == 0) {
    if (reader_.remaining() > 0) corruption_ = Corruption::kTrailing;
    return false;
  }
  corruption_ = Parse(variable);
  if (corruption_ != Corruption::kNone) return false;
  previous_ = variable.name;
  --left_;
  return true;
}

Corruption VariableCursor::Parse(Variable& variable) {
  std::uint16_t name_size = 0;
  if (!reader_.Read(name_size)) return Corruption::kTruncated;
  if (name_size == 0) return Corruption::kNameLength;
  std::uint8_t tag = 0;
  if (!reader_.Read(tag)) return Corruption::kTruncated;
  if ((tag & ~kTagMask) != 0 || (tag & kKindMask) == kNoKind) return Corruption::kTag;
  variable.kind = static_cast<ValueKind>(tag & kKindMask);
  if (variable.kind == ValueKind::kNone && tag != kHasDeadline) return Corruption::kValueless;
  if (!reader_.Read(name_size, variable.name)) return Corruption::kTruncated;
  if (HasUpperCase(variable.name)) return Corruption::kNameCase;
  // No name is empty, so the first one is above the empty `previous_`.
  if (Compare(previous_, variable.name) >= 0) return Corruption::kNameOrder;

  variable.has_deadline = (tag & kHasDeadline) != 0;
  variable.deadline = 0;
  if (variable.has_deadline && !reader_.Read(variable.deadline)) return Corruption::kTruncated;
  variable.clock = variable.kind == ValueKind::kNone ? 0 : created_;
  if ((tag & kHasClock) != 0) {
    if (!reader_.Read(variable.clock)) return Corruption::kTruncated;
    if (variable.clock == created_) return Corruption::kClock;
  }
  variable.integer = 0;
  variable.bytes = Bytes();
  if (variable.kind == ValueKind::kInteger && !reader_.Read(variable.integer)) return Corruption::kTruncated;
  if (variable.kind == ValueKind::kBytes) {
    std::uint32_t size = 0;
    if (!reader_.Read(size) || !reader_.Read(size, variable.bytes)) return Corruption::kTruncated;
    if (ParseCanonical(variable.bytes)) return Corruption::kInteger;
  }
  return Corruption::kNone;
}

Corruption RecordView::Open(Bytes record) {
  const Corruption corruption = OpenHeader(record);
  if (corruption != Corruption::kNone) return corruption;
  VariableCursor cursor = variables();
  for (Variable variable; cursor.Next(variable);) {
  }
  return cursor.corruption();
}

Corruption RecordView::OpenHeader(Bytes record, Seal seal) {
  const std::size_t seal_size = seal == Seal::kChecksum ? kChecksumBytes : 0;
  if (record.size() < kRecordHeaderBytes + seal_size) return Corruption::kTooShort;
  const std::uint8_t* const header = record.data();
  if (header[0] != 'W' || header[1] != 'R') return Corruption::kMagic;
  if (header[kVersionAt] != kSchemaVersion) return Corruption::kVersion;
  const Bytes content = record.first(record.size() - seal_size);
  if (seal == Seal::kChecksum && Load<std::uint32_t>(content.data() + content.size()) != Checksum(content)) {
    return Corruption::kChecksum;
  }

  const std::uint8_t flags = header[kFlagsAt];
  if ((flags & ~kHasTimeout) != 0) return Corruption::kFlags;
  name_.space = header[kSpaceAt];
  if (!IsSpace(name_.space)) return Corruption::kSpace;
  const std::size_t key_size = Load<std::uint16_t>(header + kKeyLengthAt);
  if (key_size == 0 || key_size > kMaxKeyBytes) return Corruption::kKeyLength;
  revision_ = Load<std::uint64_t>(header + kRevisionAt);
  if (revision_ == 0 || revision_ > kMaxRevision) return Corruption::kRevision;
  facts_.created = Load<std::int64_t>(header + kCreatedAt);
  facts_.updated = Load<std::int64_t>(header + kUpdatedAt);
  facts_.update_count = Load<std::uint64_t>(header + kUpdateCountAt) & kMaxUpdateCount;
  if (facts_.update_count == 0) return Corruption::kUpdateCount;
  variable_count_ = Load<std::uint16_t>(header + kVariableCountAt);

  ByteReader reader(content.subspan(kRecordHeaderBytes));
  facts_.timeout.reset();
  if ((flags & kHasTimeout) != 0) {
    std::int64_t timeout = 0;
    if (!reader.Read(timeout)) return Corruption::kTruncated;
    if (timeout < 1) return Corruption::kTimeout;
    facts_.timeout = timeout;
  }
  if (!reader.Read(header[kApplicationIdLengthAt], name_.application_id)) return Corruption::kTruncated;
  if (!reader.Read(key_size, name_.key)) return Corruption::kTruncated;
  variables_ = content.subspan(kRecordHeaderBytes + reader.offset());
  return Corruption::kNone;
}

RecordWriter::RecordWriter(Buffer& buffer, const RecordName& name, const RecordFacts& facts,
                           std::uint64_t revision, std::size_t variable_count)
    : buffer_(buffer), start_(buffer.size()), created_(facts.created) {
  std::uint8_t header[kRecordHeaderBytes];
  header[0] = 'W';
  header[1] = 'R';
  header[kVersionAt] = kSchemaVersion;
  header[kFlagsAt] = facts.timeout ? kHasTimeout : 0;
  header[kSpaceAt] = name.space;
  header[kApplicationIdLengthAt] = static_cast<std::uint8_t>(name.application_id.size());
  Store(header + kKeyLengthAt, static_cast<std::uint16_t>(name.key.size()));
  Store(header + kRevisionAt, revision);
  Store(header + kCreatedAt, facts.created);
  Store(header + kUpdatedAt, facts.updated);
  Store(header + kUpdateCountAt, facts.update_count | std::uint64_t{variable_count} << kUpdateCountBits);
  Append(buffer_, Bytes(header));
  if (facts.timeout) Append(buffer_, *facts.timeout);
  Append(buffer_, name.application_id);
  Append(buffer_, name.key);
}

void RecordWriter::Add(const Variable& variable) {
  const bool has_clock = variable.kind != ValueKind::kNone && variable.clock != created_;
  // Everything but the name and the value's bytes, in two pieces: what stands before the name and what after.
  std::uint8_t before[3];
  Store(before, static_cast<std::uint16_t>(variable.name.size()));
  before[2] =
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(variable.kind) |
                                (variable.has_deadline ? kHasDeadline : 0) | (has_clock ? kHasClock : 0));
  std::uint8_t after[24];
  std::size_t size = 0;
  const auto put = [&after, &size](auto value) {
    Store(after + size, value);
    size += sizeof value;
  };
  if (variable.has_deadline) put(variable.deadline);
  if (has_clock) put(variable.clock);
  if (variable.kind == ValueKind::kInteger) put(variable.integer);
  if (variable.kind == ValueKind::kBytes) put(static_cast<std::uint32_t>(variable.bytes.size()));
  Append(buffer_, Bytes(before));
  Append(buffer_, variable.name);
  Append(buffer_, Bytes(after).first(size));
  Append(buffer_, variable.bytes);
}

void RecordWriter::Finish(Seal seal) {
  if (seal == Seal::kChecksum) SealRecord(buffer_, start_);
}

void SealRecord(Buffer& buffer, std::size_t start) {
  Append(buffer, Checksum(Bytes(buffer).subspan(start)));
}

void UpdateRecord(std::span<std::uint8_t> record, std::uint64_t revision, std::int64_t now, Seal seal) {
  std::uint8_t* const header = record.data();
  Store(header + kRevisionAt, revision);
  Store(header + kUpdatedAt, std::max(Load<std::int64_t>(header + kUpdatedAt), now));
  const auto counts = Load<std::uint64_t>(header + kUpdateCountAt);
  if ((counts & kMaxUpdateCount) < kMaxUpdateCount) Store(header + kUpdateCountAt, counts + 1);
  if (seal == Seal::kNone) return;
  const std::span<std::uint8_t> content = record.first(record.size() - kChecksumBytes);
  Store(content.data() + content.size(), Checksum(content));
}

}  // namespace wafstate
