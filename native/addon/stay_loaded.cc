#include "addon/stay_loaded.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace wafstate::addon {

void StayLoaded() {
  // Any address in this library leads to it. Where that fails it is unloaded as any other addon.
#ifdef _WIN32
  HMODULE module;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                     reinterpret_cast<LPCWSTR>(&StayLoaded), &module);
#else
  Dl_info library;
  if (dladdr(reinterpret_cast<const void*>(&StayLoaded), &library) == 0) return;
  dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
#endif
}

}  // namespace wafstate::addon
