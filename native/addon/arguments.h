// Arguments of addon functions. Each function here either gives the value or throws a TypeError into
// JavaScript and gives nothing; the caller then returns at once, since no other Node-API call may follow.
#pragma once

#include <cstdint>
#include <optional>

#include "addon/napi.h"
#include "core/bytes.h"

namespace wafstate::addon {

// The bytes of a Uint8Array (or Buffer). They stay valid only until JavaScript runs again: a callback or a
// getter may detach them.
[[nodiscard]] std::optional<Bytes> BytesArgument(const Napi::CallbackInfo& info, std::size_t index,
                                                 const char* name);

// A number that is an integer from 0 to 2^53-1.
[[nodiscard]] std::optional<std::uint64_t> IntegerArgument(const Napi::CallbackInfo& info, std::size_t index,
                                                           const char* name);

// A bigint in the range of a signed 64-bit integer.
[[nodiscard]] std::optional<std::int64_t> Int64Argument(const Napi::CallbackInfo& info, std::size_t index,
                                                        const char* name);

}  // namespace wafstate::addon
