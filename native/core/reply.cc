#include "core/reply.h"

namespace wafstate {

namespace {

constexpr std::size_t kStatusAt = 4;
constexpr std::size_t kWritesAt = 6;
constexpr std::size_t kAnswerHeaderBytes = 8;
constexpr std::size_t kExistedAt = 8;
constexpr std::size_t kTouchedAt = 10;
constexpr std::size_t kResultHeaderBytes = 12;

}  // namespace

void ReplyWriter::BeginAnswer() {
  answer_ = buffer_.size();
  writes_ = 0;
  buffer_.resize(answer_ + kAnswerHeaderBytes);
}

void ReplyWriter::BeginWrite(bool existed) {
  write_ = buffer_.size();
  touched_ = 0;
  buffer_.resize(write_ + kResultHeaderBytes);
  buffer_[write_ + kExistedAt] = existed ? 1 : 0;
}

void ReplyWriter::AddTouched(std::uint16_t mutation, const Variable& variable) {
  EndTouched(WriteTouched(BeginTouched(kMaxTouchedBytes + variable.bytes.size()), mutation, variable), 1);
}

void ReplyWriter::AddHidden(std::uint16_t mutation) {
  EndTouched(WriteHidden(BeginTouched(kTouchedHeaderBytes), mutation), 1);
}

void ReplyWriter::EndWrite(std::uint64_t revision) {
  Store(buffer_.data() + write_, revision);
  Store(buffer_.data() + write_ + kTouchedAt, touched_);
  ++writes_;
}

void ReplyWriter::FinishAnswer() {
  Store(buffer_.data() + answer_, static_cast<std::uint32_t>(buffer_.size() - answer_));
  buffer_[answer_ + kStatusAt] = static_cast<std::uint8_t>(Status::kApplied);
  Store(buffer_.data() + answer_ + kWritesAt, writes_);
}

void ReplyWriter::Refuse(const Refusal& refusal) {
  buffer_.resize(answer_);
  Append(buffer_, std::uint32_t{kRefusalBytes});
  Append(buffer_, static_cast<std::uint8_t>(refusal.status));
  Append(buffer_, std::uint8_t{0});
  Append(buffer_, refusal.write);
  Append(buffer_, refusal.mutation);
  Append(buffer_, refusal.limit);
  Append(buffer_, refusal.actual);
}

}  // namespace wafstate
