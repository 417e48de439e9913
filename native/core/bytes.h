// Bytes and little-endian numbers, read with a limit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace wafstate {

// Bytes that belong to someone else, who must outlive the view.
using Bytes = std::span<const std::uint8_t>;

// Bytes that are written to: cleared and filled again, so that the steady state allocates nothing.
using Buffer = std::vector<std::uint8_t>;

// REQUIRES: at least sizeof(T) readable bytes at `from`.
template <typename T>
[[nodiscard]] T Load(const std::uint8_t* from) {
  static_assert(std::is_integral_v<T>);
  std::make_unsigned_t<T> value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::big && sizeof(T) > 1) {
    std::make_unsigned_t<T> swapped = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i, value >>= 8) {
      swapped = static_cast<std::make_unsigned_t<T>>(swapped << 8 | (value & 0xff));
    }
    value = swapped;
  }
  return static_cast<T>(value);
}

// REQUIRES: at least sizeof(T) writable bytes at `to`.
template <typename T>
void Store(std::uint8_t* to, T value) {
  static_assert(std::is_integral_v<T>);
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, &bits, sizeof bits);
  } else {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      to[i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
}

template <typename T>
void Append(Buffer& buffer, T value) {
  std::uint8_t bytes[sizeof(T)];
  Store(bytes, value);
  buffer.insert(buffer.end(), bytes, bytes + sizeof(T));
}

inline void Append(Buffer& buffer, Bytes bytes) {
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

// As memcmp, the shorter first where one begins with the other.
[[nodiscard]] inline int Compare(Bytes a, Bytes b) {
  const std::size_t common = a.size() < b.size() ? a.size() : b.size();
  // memcmp must not be given the null pointer of an empty span, not even with length 0.
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

[[nodiscard]] inline bool Equal(Bytes a, Bytes b) {
  return a.size() == b.size() && Compare(a, b) == 0;
}

[[nodiscard]] inline bool HasUpperCase(Bytes bytes) {
  for (const std::uint8_t byte : bytes) {
    if (byte >= 'A' && byte <= 'Z') return true;
  }
  return false;
}

[[nodiscard]] inline Bytes ToBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Reads from the front and never past the end: a read that does not fit gives false and moves nothing.
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t remaining() const { return bytes_.size() - offset_; }

  template <typename T>
  [[nodiscard]] bool Read(T& value) {
    if (remaining() < sizeof(T)) return false;
    value = Load<T>(bytes_.data() + offset_);
    offset_ += sizeof(T);
    return true;
  }

  [[nodiscard]] bool Read(std::size_t size, Bytes& bytes) {
    if (remaining() < size) return false;
    bytes = bytes_.subspan(offset_, size);
    offset_ += size;
    return true;
  }

 private:
  Bytes bytes_;
  std::size_t offset_ = 0;
};

}  // namespace wafstate
