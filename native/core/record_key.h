// What names a record in an ordered engine.
//
//   key := space:u8 applicationIdLength:u8 applicationId key
//
// Byte order is order by space, application id length, application id, key. Space 0 is the engine's own.
#pragma once

#include "core/record.h"

namespace wafstate {

constexpr std::size_t kMaxRecordKeyBytes = 2 + kMaxApplicationIdBytes + kMaxKeyBytes;

// REQUIRES: lengths within kMaxApplicationIdBytes and kMaxKeyBytes.
void AppendRecordKey(Buffer& buffer, const RecordName& name);

// False where the bytes are no such key; else `name` has views into them.
[[nodiscard]] bool ParseRecordKey(Bytes bytes, RecordName& name);

}  // namespace wafstate
