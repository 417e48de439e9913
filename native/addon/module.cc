// Entry point of the addon: what `require('wafstate.node')` returns.

#include "addon/environment.h"
#include "addon/napi.h"
#include "addon/record.h"
#include "addon/shared_table.h"
#include "addon/stay_loaded.h"

namespace wafstate::addon {

// Raised whenever a call changes its arguments or its result. The loader refuses an addon with another
// number, so that a stale binary is reported instead of misread.
constexpr int kAddonAbi = 3;

// One line a concern. The addon is loaded into every thread of a process, each with exports of its own.
static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("abi", Napi::Number::New(env, kAddonAbi));
  AddEnvironment(env, exports);
  AddRecord(env, exports);
  AddSharedTable(env, exports);
  StayLoaded();
  return exports;
}

NODE_API_MODULE(wafstate, Init)

}  // namespace wafstate::addon
