// recordApply, recordDecode, recordEncode and recordCheck: the record core on JavaScript values.
#pragma once

#include "addon/napi.h"

namespace wafstate::addon {

void AddRecord(Napi::Env env, Napi::Object exports);

}  // namespace wafstate::addon
