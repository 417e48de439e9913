// The tables of this process, by name.
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "core/shared_table.h"

namespace wafstate {

namespace {

struct Registry {
  Registry() {
    std::random_device random;
    const auto word = [&random] { return std::uint64_t{random()} << 32 | random(); };
    hash_key = {.first = word(), .second = word()};
  }

  std::mutex mutex;
  HashKey hash_key;
  std::map<std::string, std::unique_ptr<SharedTable>, std::less<>> tables;
};

Registry& TheRegistry() {
  // Never destroyed: threads may still be in a table when the process ends.
  static Registry& registry = *new Registry;
  return registry;
}

}  // namespace

SharedTable& OpenSharedTable(std::string_view name, const TableOptions& options) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  const auto found = registry.tables.find(name);
  if (found != registry.tables.end()) return *found->second;
  auto table = std::make_unique<SharedTable>(options, registry.hash_key);
  return *registry.tables.emplace(name, std::move(table)).first->second;
}

}  // namespace wafstate
