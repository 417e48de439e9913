#include "core/gate.h"

#include <cerrno>

#include "lmdb/liblmdb.h"

namespace wafstate {

namespace {
constexpr std::size_t kGateMapBytes = std::size_t{128} << 10;
}

Fault Gate::Open(const GateOptions& options, std::unique_ptr<Gate>& gate) {
  MDB_env* env = nullptr;
  int code = mdb_env_create(&env);
  if (code != 0) return FaultOf(code, "create the gate");
  code = mdb_env_set_mapsize(env, kGateMapBytes);
  if (code == 0) code = mdb_env_set_maxreaders(env, options.max_readers);
  if (code == 0) code = mdb_env_open(env, options.directory.c_str(), MDB_NOTLS, options.mode);
  if (code != 0) {
    mdb_env_close(env);
    if (code == ENOENT) return {.failure = Failure::kAbsent, .step = "open the gate", .code = code};
    return FaultOf(code, "open the gate");
  }
  gate.reset(new Gate(env, options.wait_milliseconds));
  return {};
}

Gate::~Gate() {
  wafstate_env_close(env_);
}

Fault Gate::Enter(Pass& pass) {
  wafstate_wait_at_most(wait_milliseconds_);
  const int code = mdb_txn_begin(env_, nullptr, 0, &pass.txn_);
  if (code != 0) {
    pass.txn_ = nullptr;
    Fault fault = FaultOf(code, "enter the gate");
    fault.limit = wait_milliseconds_;
    return fault;
  }
  return {};
}

}  // namespace wafstate
