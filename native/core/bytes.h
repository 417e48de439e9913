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

// Names and keys are mostly of 8 to 20 bytes: the functions below take eight at a time, the last eight
// overlapping those before, where a call of memcmp would cost more than the comparison.

// Big-endian, so that numbers compare as their bytes do. REQUIRES: eight readable bytes at `from`.
[[nodiscard]] inline std::uint64_t LoadOrdered(const std::uint8_t* from) {
  return __builtin_bswap64(Load<std::uint64_t>(from));
}

// As memcmp, the shorter first where one begins with the other.
[[nodiscard]] inline int Compare(Bytes a, Bytes b) {
  const std::size_t common = a.size() < b.size() ? a.size() : b.size();
  const auto at = [&a, &b](std::size_t offset) {
    const std::uint64_t left = LoadOrdered(a.data() + offset), right = LoadOrdered(b.data() + offset);
    return left < right ? -1 : left > right ? 1 : 0;
  };
  std::size_t offset = 0;
  for (; offset + 8 <= common; offset += 8) {
    if (const int order = at(offset); order != 0) return order;
  }
  if (offset < common && common > 8) {
    if (const int order = at(common - 8); order != 0) return order;
  } else {
    for (; offset < common; ++offset) {
      if (a[offset] != b[offset]) return a[offset] < b[offset] ? -1 : 1;
    }
  }
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

[[nodiscard]] inline bool Equal(Bytes a, Bytes b) {
  if (a.size() != b.size()) return false;
  const auto at = [&a, &b](std::size_t offset) {
    return Load<std::uint64_t>(a.data() + offset) == Load<std::uint64_t>(b.data() + offset);
  };
  std::size_t offset = 0;
  for (; offset + 8 <= a.size(); offset += 8) {
    if (!at(offset)) return false;
  }
  if (offset < a.size() && a.size() > 8) return at(a.size() - 8);
  for (; offset < a.size(); ++offset) {
    if (a[offset] != b[offset]) return false;
  }
  return true;
}

// Whether there is an ASCII capital.
[[nodiscard]] inline bool HasUpperCase(Bytes bytes) {
  // In the lower seven bits of each byte, what is added carries into the eighth from A, and from beyond Z.
  const auto at = [&bytes](std::size_t offset) {
    constexpr std::uint64_t kEach = 0x0101010101010101;
    const auto word = Load<std::uint64_t>(bytes.data() + offset);
    const std::uint64_t low = word & 0x7f * kEach;
    return (((low + 0x3f * kEach) ^ (low + 0x25 * kEach)) & ~word & 0x80 * kEach) != 0;
  };
  std::size_t offset = 0;
  for (; offset + 8 <= bytes.size(); offset += 8) {
    if (at(offset)) return true;
  }
  if (offset < bytes.size() && bytes.size() > 8) return at(bytes.size() - 8);
  for (; offset < bytes.size(); ++offset) {
    if (bytes[offset] >= 'A' && bytes[offset] <= 'Z') return true;
  }
  return false;
}

[[nodiscard]] inline Bytes ToBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Makes the buffer longer and returns where the new bytes begin.
[[nodiscard]] inline std::uint8_t* Extend(Buffer& buffer, std::size_t size) {
  const std::size_t at = buffer.size();
  buffer.resize(at + size);
  return buffer.data() + at;
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
