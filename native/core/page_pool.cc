#include "core/page_pool.h"

#include <sys/mman.h>

#include <bit>
#include <iterator>
#include <utility>

namespace wafstate {

PagePool::~PagePool() {
  for (const auto& [base, chunk] : chunks_)
    munmap(base, kChunkBytes);
}

std::uint8_t* PagePool::Take() {
  const std::lock_guard lock(mutex_);
  return TakeLocked();
}

std::uint8_t* PagePool::TakeHalf() {
  const std::lock_guard lock(mutex_);
  if (half_ != nullptr) return std::exchange(half_, nullptr);
  std::uint8_t* const page = TakeLocked();
  if (page != nullptr) half_ = page + kPageBytes / 2;
  return page;
}

std::uint8_t* PagePool::TakeLocked() {
  std::uint8_t* const base = with_room_.empty() ? AddChunk() : *with_room_.begin();
  if (base == nullptr) return nullptr;
  Chunk& chunk = chunks_.at(base);
  std::size_t word = 0;
  while (chunk.taken[word] == ~std::uint64_t{0})
    ++word;
  const auto bit = static_cast<std::size_t>(std::countr_one(chunk.taken[word]));
  chunk.taken[word] |= std::uint64_t{1} << bit;
  if (++chunk.live == kPages) with_room_.erase(base);
  return base + (word * 64 + bit) * kPageBytes;
}

void PagePool::Give(std::uint8_t* page) {
  const std::lock_guard lock(mutex_);
  const auto found = std::prev(chunks_.upper_bound(page));
  auto& [base, chunk] = *found;
  const std::size_t number = static_cast<std::size_t>(page - base) / kPageBytes;
  chunk.taken[number / 64] &= ~(std::uint64_t{1} << (number % 64));
  with_room_.insert(base);
  // One stays, or a page that comes and goes at the edge of a chunk would map it anew each time.
  if (--chunk.live > 0 || with_room_.size() == 1) return;
  with_room_.erase(base);
  munmap(base, kChunkBytes);
  chunks_.erase(found);
}

std::size_t PagePool::MappedBytes() {
  const std::lock_guard lock(mutex_);
  return chunks_.size() * kChunkBytes;
}

// A chunk must begin where a huge page can, so twice as much is mapped and the ends are given back.
std::uint8_t* PagePool::AddChunk() {
  void* const mapped =
      mmap(nullptr, 2 * kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const start = static_cast<std::uint8_t*>(mapped);
  const std::size_t before =
      (kChunkBytes - reinterpret_cast<std::uintptr_t>(start) % kChunkBytes) % kChunkBytes;
  std::uint8_t* const base = start + before;
  if (before > 0) munmap(start, before);
  munmap(base + kChunkBytes, kChunkBytes - before);
#ifdef MADV_HUGEPAGE
  // Advice: without it, or where the system has no such pages, small ones serve.
  if (chunks_.size() >= kSmallChunks) static_cast<void>(madvise(base, kChunkBytes, MADV_HUGEPAGE));
#endif
  chunks_.emplace(base, Chunk{});
  with_room_.insert(base);
  return base;
}

}  // namespace wafstate
