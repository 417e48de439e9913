// Entry point of the addon: what `require('wafstate.node')` returns.

#include "addon/environment.h"
#include "addon/napi.h"

namespace wafstate::addon {

// Raised whenever a call changes its arguments or its result. The loader refuses an addon with another
// number, so that a stale binary is reported instead of misread.
constexpr int kAddonAbi = 1;

// One a concern; each adds its functions to `exports`. No state outlives a call except what an environment's
// own instance data holds, since the addon is loaded into every thread of a process.
static Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("abi", Napi::Number::New(env, kAddonAbi));
  AddEnvironment(env, exports);
  return exports;
}

NODE_API_MODULE(wafstate, Init)

}  // namespace wafstate::addon
