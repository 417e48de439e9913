// How many bytes or records a table may have, counted by all its shards together.
#pragma once

#include <atomic>
#include <cstdint>

namespace wafstate {

class Budget {
 public:
  explicit Budget(std::uint64_t limit) : limit_(limit) {}

  // All of `amount`, or nothing and false.
  [[nodiscard]] bool Take(std::uint64_t amount) {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (amount > limit_ || used > limit_ - amount) return false;
    } while (!used_.compare_exchange_weak(used, used + amount, std::memory_order_relaxed));
    return true;
  }
  // REQUIRES: it was taken.
  void Give(std::uint64_t amount) { used_.fetch_sub(amount, std::memory_order_relaxed); }

  // Whether Take would have succeeded just now.
  [[nodiscard]] bool Has(std::uint64_t amount) const { return amount <= limit_ && used() <= limit_ - amount; }
  [[nodiscard]] std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }

 private:
  std::atomic<std::uint64_t> used_{0};
  const std::uint64_t limit_;
};

}  // namespace wafstate
