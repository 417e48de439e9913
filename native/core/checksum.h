// XXH32 with seed 0, as https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md defines it: tells
// damage, not intent.
#pragma once

#include "core/bytes.h"

namespace wafstate {

[[nodiscard]] std::uint32_t Checksum(Bytes bytes);

}  // namespace wafstate
