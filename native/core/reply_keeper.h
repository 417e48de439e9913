// The last reply of every writer of a process, for who has to know what became of a batch after the thread
// that ran it has died.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "core/bytes.h"

namespace wafstate {

enum class BatchState : std::uint8_t { kUnknown, kRunning, kDone };

class ReplyKeeper {
 public:
  // The writer's former reply is dropped. REQUIRES: a writer runs one batch at a time.
  void Begin(std::uint64_t writer, std::uint64_t sequence);
  void End(std::uint64_t writer, Bytes reply);
  void Forget(std::uint64_t writer);

  // With kDone, `reply` gets a copy.
  [[nodiscard]] BatchState Find(std::uint64_t writer, std::uint64_t sequence, Buffer& reply);

 private:
  struct Entry {
    std::uint64_t sequence = 0;
    bool running = false;
    Buffer reply;
  };

  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> entries_;
};

}  // namespace wafstate
