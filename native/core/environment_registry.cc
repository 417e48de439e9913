// Which environments this process has open.

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <utility>

#include "core/environment.h"

namespace wafstate {

// The environment of one directory. Its mutex is held while it opens, which may wait for the gate, and while
// it closes, so that no thread opens what another is closing.
struct EnvironmentReference::Slot {
  std::mutex mutex;
  std::unique_ptr<Environment> environment;
  std::size_t references = 0;
};

struct EnvironmentRegistry {
  using Identity = std::pair<dev_t, ino_t>;

  std::mutex mutex;
  std::map<Identity, std::shared_ptr<EnvironmentReference::Slot>> slots;

  // Never destroyed: threads may still close their references while the process ends.
  static EnvironmentRegistry& Get() {
    static auto& registry = *new EnvironmentRegistry;
    return registry;
  }

  // Drops the slots that nobody uses or is about to use.
  void Trim() {
    std::erase_if(slots, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
};

Fault EnvironmentReference::Open(const EnvironmentOptions& options) {
  struct stat status;
  if (stat(options.path.c_str(), &status) != 0) {
    const int code = errno;
    return {.failure = code == ENOENT ? Failure::kAbsent : Failure::kEngine,
            .step = "find the directory",
            .code = code};
  }
  auto& registry = EnvironmentRegistry::Get();
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(registry.mutex);
    registry.Trim();
    auto& entry = registry.slots[{status.st_dev, status.st_ino}];
    if (entry == nullptr) entry = std::make_shared<Slot>();
    slot = entry;
  }
  const std::lock_guard lock(slot->mutex);
  if (slot->environment != nullptr && slot->environment->IsForked()) {
    return {.failure = Failure::kForked, .step = "share the environment"};
  }
  if (slot->environment != nullptr) {
    if (const Fault fault = slot->environment->CompareOptions(options)) return fault;
  } else if (const Fault fault = Environment::Open(options, slot->environment)) {
    return fault;
  }
  ++slot->references;
  environment_ = slot->environment.get();
  slot_ = std::move(slot);
  return {};
}

void EnvironmentReference::Close() {
  if (environment_ == nullptr) return;
  {
    const std::lock_guard lock(slot_->mutex);
    if (--slot_->references == 0) slot_->environment.reset();
  }
  environment_ = nullptr;
  slot_.reset();
}

bool EnvironmentReference::IsOpen(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return false;
  auto& registry = EnvironmentRegistry::Get();
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(registry.mutex);
    const auto found = registry.slots.find({status.st_dev, status.st_ino});
    if (found == registry.slots.end()) return false;
    slot = found->second;
  }
  const std::lock_guard lock(slot->mutex);
  return slot->environment != nullptr;
}

}  // namespace wafstate
