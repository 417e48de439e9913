// Requests of docs/format.md, for the tests of engines.
#pragma once

#include <string_view>

#include "core/record_key.h"
#include "core/request.h"

namespace wafstate::test {

constexpr std::int64_t kSecond = 1'000'000'000;

class RequestBuilder {
 public:
  explicit RequestBuilder(std::int64_t now, std::uint32_t record_bytes = 1 << 26) {
    Append(bytes_, std::uint32_t{0});
    Append(bytes_, record_bytes);
    Append(bytes_, std::uint16_t{65'535});
    Append(bytes_, std::uint16_t{0});
    Append(bytes_, now);
  }

  // Space 1, no application id.
  RequestBuilder& Write(std::string_view key, Expectation expectation = Expectation::kAny,
                        std::uint64_t revision = 0, std::int64_t timeout = 0) {
    ++writes_;
    Append(bytes_, std::uint8_t{1});
    Append(bytes_, std::uint8_t{0});
    Append(bytes_, static_cast<std::uint16_t>(key.size()));
    Append(bytes_, static_cast<std::uint8_t>(expectation));
    Append(bytes_, static_cast<std::uint8_t>(timeout > 0 ? 1 : 0));
    mutations_at_ = bytes_.size();
    mutations_ = 0;
    Append(bytes_, std::uint16_t{0});
    Append(bytes_, revision);
    Append(bytes_, timeout);
    Append(bytes_, ToBytes(key));
    return *this;
  }
  RequestBuilder& Add(std::string_view name, std::int64_t delta) {
    Head(Operation::kAdd, 0, name);
    Append(bytes_, delta);
    return *this;
  }
  RequestBuilder& Set(std::string_view name, Bytes value) {
    Head(Operation::kSet, 0, name);
    Append(bytes_, static_cast<std::uint32_t>(value.size()));
    Append(bytes_, value);
    return *this;
  }
  RequestBuilder& Expire(std::string_view name, std::int64_t deadline, bool only_if_none = false) {
    Head(Operation::kExpire, only_if_none ? 1 : 0, name);
    Append(bytes_, deadline);
    return *this;
  }
  RequestBuilder& Remove(std::string_view name) {
    Head(Operation::kRemove, 0, name);
    return *this;
  }
  RequestBuilder& RemoveRecord() {
    Head(Operation::kRemoveRecord, 0, "");
    return *this;
  }

  [[nodiscard]] Bytes bytes() {
    wafstate::Store(bytes_.data(), static_cast<std::uint32_t>(bytes_.size()));
    wafstate::Store(bytes_.data() + 10, writes_);
    return bytes_;
  }

 private:
  void Head(Operation operation, std::uint8_t flags, std::string_view name) {
    Append(bytes_, static_cast<std::uint8_t>(operation));
    Append(bytes_, flags);
    Append(bytes_, static_cast<std::uint16_t>(name.size()));
    Append(bytes_, ToBytes(name));
    wafstate::Store(bytes_.data() + mutations_at_, ++mutations_);
  }

  Buffer bytes_;
  std::uint16_t writes_ = 0;
  std::size_t mutations_at_ = 0;
  std::uint16_t mutations_ = 0;
};

inline Buffer KeyOf(std::string_view key) {
  Buffer bytes;
  AppendRecordKey(bytes, {.space = 1, .application_id = {}, .key = ToBytes(key)});
  return bytes;
}

}  // namespace wafstate::test
