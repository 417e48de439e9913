// What JavaScript passed, as what C++ works with. Each function either gives the value or throws a TypeError
// into JavaScript and gives nothing; the caller then returns at once, since no other Node-API call may
// follow.
#pragma once

#include <cstdint>
#include <optional>

#include "addon/napi.h"
#include "core/bytes.h"

namespace wafstate::addon {

// The bytes of a Uint8Array (or Buffer). They are valid only until JavaScript runs again: a callback or a
// getter may detach them.
[[nodiscard]] std::optional<Bytes> BytesArgument(const Napi::Value& value, const char* name);

// The bytes of a byte string: one a character, none beyond 255.
[[nodiscard]] std::optional<Buffer> ByteStringArgument(const Napi::Value& value, const char* name);

// A number that is an integer from 0 to 2^53-1.
[[nodiscard]] std::optional<std::uint64_t> IntegerArgument(const Napi::Value& value, const char* name);

// A bigint in the range of a signed 64-bit integer.
[[nodiscard]] std::optional<std::int64_t> Int64Argument(const Napi::Value& value, const char* name);

// The same for the argument at `index`.
[[nodiscard]] inline std::optional<Bytes> BytesArgument(const Napi::CallbackInfo& info, std::size_t index,
                                                        const char* name) {
  return BytesArgument(info[index], name);
}
[[nodiscard]] inline std::optional<std::uint64_t> IntegerArgument(const Napi::CallbackInfo& info,
                                                                  std::size_t index, const char* name) {
  return IntegerArgument(info[index], name);
}
[[nodiscard]] inline std::optional<std::int64_t> Int64Argument(const Napi::CallbackInfo& info,
                                                               std::size_t index, const char* name) {
  return Int64Argument(info[index], name);
}

void ThrowTypeError(Napi::Env env, const char* name, const char* wanted);

}  // namespace wafstate::addon
