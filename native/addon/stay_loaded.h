#pragma once

namespace wafstate::addon {

// Keeps this library in memory to the end of the process. Node unloads an addon with the last thread that has
// it loaded; what the process owns, such as its shared tables, would be gone for a thread that comes later.
void StayLoaded();

}  // namespace wafstate::addon
