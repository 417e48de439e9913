#pragma once

#include "addon/napi.h"

namespace wafstate::addon {

// Adds the functions of shared tables: src/backend/shared-memory/native-addon.ts has their types and what
// they do.
void AddSharedTable(Napi::Env env, Napi::Object exports);

}  // namespace wafstate::addon
