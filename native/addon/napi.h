// The one place that includes node-addon-api, so that its macros are the same in every file of the addon:
// Node-API version 8, which serves Node 20 and newer, and no C++ exceptions.
#pragma once

#if NAPI_VERSION != 8 || !defined(NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS) || \
    !defined(NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS)
#error "binding.gyp defines these three"
#endif

#include <napi.h>
