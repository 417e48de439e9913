#pragma once

#include "addon/napi.h"

namespace wafstate::addon {

// Adds the functions of LMDB environments: src/backend/lmdb/native-addon.ts has their types and what they do.
void AddEnvironment(Napi::Env env, Napi::Object exports);

}  // namespace wafstate::addon
