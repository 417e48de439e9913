#include "core/environment_fault.h"

#include <lmdb.h>

#include <cerrno>

namespace wafstate {

Fault FaultOf(int code, const char* step) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    // A short write of a full disk comes out of LMDB as EIO too.
    case EIO:
      return {.failure = Failure::kDisk, .step = step, .code = code};
    case MDB_READERS_FULL:
      return {.failure = Failure::kReadersFull, .step = step, .code = code};
    case MDB_MAP_FULL:
      return {.failure = Failure::kMapFull, .step = step, .code = code};
    case ETIMEDOUT:
      return {.failure = Failure::kTimedOut, .step = step, .code = code};
    default:
      return {.failure = Failure::kEngine, .step = step, .code = code};
  }
}

}  // namespace wafstate
