#include "core/reply_keeper.h"

namespace wafstate {

void ReplyKeeper::Begin(std::uint64_t writer, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[writer];
  entry.sequence = sequence;
  entry.running = true;
  entry.reply.clear();
}

void ReplyKeeper::End(std::uint64_t writer, Bytes reply) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(writer);
  // A writer forgotten while its batch ran has nobody left who would ask.
  if (found == entries_.end()) return;
  found->second.running = false;
  found->second.reply.assign(reply.begin(), reply.end());
}

void ReplyKeeper::Forget(std::uint64_t writer) {
  const std::lock_guard lock(mutex_);
  entries_.erase(writer);
}

BatchState ReplyKeeper::Find(std::uint64_t writer, std::uint64_t sequence, Buffer& reply) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(writer);
  if (found == entries_.end() || found->second.sequence != sequence) return BatchState::kUnknown;
  if (found->second.running) return BatchState::kRunning;
  reply = found->second.reply;
  return BatchState::kDone;
}

}  // namespace wafstate
