// How far a transaction may let the data file grow.
//
//   |------------- growth -------------|--- steady ---|--- removal ---|--- free list ---|
//   0                                                                                  cap
//
// Every write copies the pages it touches before old ones come free, so a full map would refuse even
// deletions. What makes records longer has to stop first, then what leaves them as long as they are, and
// removals go on. The last part is for the list of free pages, which LMDB writes within the commit, after the
// last count.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wafstate {

enum class PageUse { kGrowth, kSteady, kRemoval };

class PageBudget {
 public:
  PageBudget() = default;
  PageBudget(std::uint64_t cap_bytes, std::uint64_t page_bytes)
      : page_bytes_(page_bytes), cap_(cap_bytes / page_bytes) {
    // A list that names every page takes 8 bytes a page; 16 pages for the tree above it.
    constexpr std::uint64_t kEntriesPerPage = 512;
    free_list_ = cap_ / kEntriesPerPage + 16;
    step_ = std::clamp<std::uint64_t>(cap_ / 64, 16, 1024);
  }

  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

  // The most pages that the file may have before a commit of that use.
  [[nodiscard]] std::uint64_t Limit(PageUse use) const {
    const std::uint64_t steps = use == PageUse::kGrowth ? 2 : use == PageUse::kSteady ? 1 : 0;
    const std::uint64_t reserved = free_list_ + steps * step_;
    return cap_ > reserved ? cap_ - reserved : 0;
  }

  // Whether the file is beyond its cap, because that was lowered. Removals must then find some pages all the
  // same, until the first ones have come free.
  [[nodiscard]] bool IsBeyondCap(std::uint64_t pages) const { return pages > cap_; }
  [[nodiscard]] std::uint64_t removal_step() const { return step_; }

  // The most bytes that the file may have after a commit.
  [[nodiscard]] std::uint64_t CapBytes(std::uint64_t pages_at_begin) const {
    return (IsBeyondCap(pages_at_begin) ? pages_at_begin + step_ : cap_) * page_bytes_;
  }

 private:
  std::uint64_t page_bytes_ = 0;
  std::uint64_t cap_ = 0;
  std::uint64_t free_list_ = 0;
  std::uint64_t step_ = 0;
};

}  // namespace wafstate
