#include "core/request.h"

namespace wafstate {

namespace {

constexpr std::size_t kRequestHeaderBytes = 20;
constexpr std::size_t kMutationHeaderBytes = 4;
constexpr std::uint8_t kHasTimeout = 1;
constexpr std::uint8_t kOnlyIfNone = 1;
constexpr std::uint8_t kSaturates = 1;

std::uint8_t KnownFlags(Operation operation) {
  if (operation == Operation::kExpire) return kOnlyIfNone;
  const bool is_sum = operation == Operation::kAdd || operation == Operation::kSubtract;
  return is_sum ? kSaturates : 0;
}

}  // namespace

bool Request::Parse(Bytes bytes) {
  writes_.clear();
  mutations_.clear();
  if (ParseBody(bytes)) return true;
  writes_.clear();
  mutations_.clear();
  return false;
}

bool Request::ParseBody(Bytes bytes) {
  ByteReader reader(bytes);
  std::uint32_t size = 0;
  std::uint16_t write_count = 0;
  if (!reader.Read(size) || size != bytes.size() || !reader.Read(record_bytes_limit_) ||
      !reader.Read(variables_limit_) || !reader.Read(write_count) || write_count == 0 || !reader.Read(now_)) {
    return false;
  }
  for (std::size_t i = 0; i < write_count; ++i) {
    if (!ParseWrite(reader)) return false;
  }
  return reader.remaining() == 0;
}

bool Request::ParseWrite(ByteReader& reader) {
  Write write;
  std::uint8_t application_id_size = 0;
  std::uint16_t key_size = 0;
  std::uint8_t expectation = 0;
  std::uint8_t flags = 0;
  std::uint16_t mutation_count = 0;
  std::int64_t timeout = 0;
  if (!reader.Read(write.name.space) || !reader.Read(application_id_size) || !reader.Read(key_size) ||
      !reader.Read(expectation) || !reader.Read(flags) || !reader.Read(mutation_count) ||
      !reader.Read(write.expected_revision) || !reader.Read(timeout) ||
      !reader.Read(application_id_size, write.name.application_id) ||
      !reader.Read(key_size, write.name.key)) {
    return false;
  }
  if (!IsSpace(write.name.space) || key_size == 0 || key_size > kMaxKeyBytes) return false;
  if (expectation > static_cast<std::uint8_t>(Expectation::kRevision)) return false;
  write.expectation = static_cast<Expectation>(expectation);
  const std::uint64_t revision = write.expected_revision;
  if (write.expectation == Expectation::kRevision ? revision == 0 || revision > kMaxRevision
                                                  : revision != 0) {
    return false;
  }
  if ((flags & ~kHasTimeout) != 0) return false;
  if (flags == kHasTimeout ? timeout < 1 : timeout != 0) return false;
  if (flags == kHasTimeout) write.timeout = timeout;
  write.first_mutation = mutations_.size();
  write.mutation_count = mutation_count;
  for (std::size_t i = 0; i < mutation_count; ++i) {
    if (!ParseMutation(reader)) return false;
  }
  writes_.push_back(write);
  return true;
}

bool Request::ParseMutation(ByteReader& reader) {
  Bytes header;
  if (!reader.Read(kMutationHeaderBytes, header)) return false;
  const std::uint8_t flags = header[1];
  Mutation& mutation = mutations_.emplace_back();
  if (!reader.Read(Load<std::uint16_t>(header.data() + 2), mutation.name)) return false;
  mutation.operation = static_cast<Operation>(header[0]);
  const bool of_record =
      mutation.operation == Operation::kTimeout || mutation.operation == Operation::kRemoveRecord;
  if (of_record != mutation.name.empty() || HasUpperCase(mutation.name)) return false;
  if ((flags & ~KnownFlags(mutation.operation)) != 0) return false;

  switch (mutation.operation) {
    case Operation::kSet: {
      std::uint32_t size = 0;
      if (!reader.Read(size) || !reader.Read(size, mutation.value)) return false;
      break;
    }
    case Operation::kRemove:
    case Operation::kRemoveRecord:
      break;
    case Operation::kAdd:
    case Operation::kSubtract:
      if (!reader.Read(mutation.operand)) return false;
      mutation.saturates = flags == kSaturates;
      break;
    case Operation::kExpire:
      if (!reader.Read(mutation.operand)) return false;
      mutation.only_if_none = flags == kOnlyIfNone;
      break;
    case Operation::kDeprecate:
      if (!reader.Read(mutation.operand) || !reader.Read(mutation.period) || !reader.Read(mutation.at))
        return false;
      if (mutation.operand < 1 || mutation.period < 1) return false;
      break;
    case Operation::kTimeout:
      if (!reader.Read(mutation.operand) || mutation.operand < 0) return false;
      break;
    default:
      return false;
  }
  return true;
}

bool BatchReader::Next(Bytes& request) {
  if (rest_.empty()) return false;
  std::uint32_t size = 0;
  const bool sound = ByteReader(rest_).Read(size) && size >= kRequestHeaderBytes && size <= rest_.size();
  request = sound ? rest_.first(size) : rest_;
  rest_ = rest_.subspan(request.size());
  return true;
}

}  // namespace wafstate
