// A record as a JavaScript object:
//
//   {space, applicationId, key, revision, created, updated, updateCount, timeout, names, values, deadlines,
//   clocks}
//
// Strings are byte strings, times and the timeout bigints. The last four are arrays with one place a
// variable, in byte order of the names; a place, like `timeout`, is undefined where there is no such thing.
#pragma once

#include <optional>

#include "addon/napi.h"
#include "core/record.h"

namespace wafstate::addon {

// REQUIRES: Open has accepted the record.
[[nodiscard]] Napi::Value RecordToObject(Napi::Env env, const RecordView& record);

// Appends the record's bytes; nothing where it is none, and then gives the reason. nullopt: an exception is
// pending, since a field has the wrong type or a getter threw.
[[nodiscard]] std::optional<Corruption> EncodeObject(const Napi::Value& value, Buffer& bytes);

[[nodiscard]] Napi::Value ByteString(Napi::Env env, Bytes bytes);

}  // namespace wafstate::addon
