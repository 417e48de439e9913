#include "core/cell_store.h"

#include <new>

namespace wafstate {

CellRef CellStore::Allocate(std::size_t size_class) {
  if (with_room_[size_class] == kNoPage && !AddPage(size_class)) return kNoCell;
  const std::uint32_t index = with_room_[size_class];
  Page& page = *pages_[index];
  std::size_t word = 0;
  while (page.taken[word] == ~std::uint64_t{0})
    ++word;
  const std::size_t cell = word * 64 + static_cast<std::size_t>(std::countr_one(page.taken[word]));
  page.taken[word] |= std::uint64_t{1} << (cell % 64);
  ++page.pins;
  --free_cells_[size_class];
  if (++page.live == page.capacity) UnlinkPage(index);
  return RefOf(index, cell, size_class);
}

void CellStore::Free(CellRef ref) {
  const std::uint32_t index = ref >> kOffsetBits;
  Page& page = *pages_[index];
  const std::size_t cell = (ref & kOffsetMask) / (ClassBytes(page.size_class) / kUnit);
  page.taken[cell / 64] &= ~(std::uint64_t{1} << (cell % 64));
  const bool was_full = page.live == page.capacity;
  --page.live;
  if (!page.emptying) {
    ++free_cells_[page.size_class];
    if (was_full) LinkPage(index);
  }
  if (page.live == 0) ReleasePage(index);
}

std::optional<std::uint32_t> CellStore::BeginEmptying(std::size_t size_class) {
  const std::uint32_t first = with_room_[size_class];
  if (first == kNoPage) return std::nullopt;
  const std::uint32_t capacity = pages_[first]->capacity;
  if (free_cells_[size_class] < capacity + capacity / 4) return std::nullopt;
  // The emptiest of a few, so that little is moved. The others have room for it: they have at least as many
  // free cells as a page holds less those that are free here.
  constexpr int kPagesToCompare = 8;
  std::optional<std::uint32_t> best;
  std::uint32_t index = first;
  for (int i = 0; i < kPagesToCompare && index != kNoPage; ++i, index = pages_[index]->next) {
    if (pages_[index]->pins > 0) continue;
    if (!best || pages_[index]->live < pages_[*best]->live) best = index;
  }
  if (best) {
    Page& page = *pages_[*best];
    UnlinkPage(*best);
    page.emptying = true;
    free_cells_[size_class] -= page.capacity - page.live;
  }
  return best;
}

CellRef CellStore::NextTaken(std::uint32_t page_index, CellRef after) {
  const Page& page = *pages_[page_index];
  std::size_t cell = 0;
  if (after != kNoCell) cell = (after & kOffsetMask) / (ClassBytes(page.size_class) / kUnit) + 1;
  for (; cell < page.capacity; ++cell) {
    if (page.taken[cell / 64] >> (cell % 64) & 1) return RefOf(page_index, cell, page.size_class);
  }
  return kNoCell;
}

bool CellStore::AddPage(std::size_t size_class) {
  if (unused_indexes_.empty() && pages_.size() == kMaxPages) return false;
  if (!budget_.Take(kPageCost)) return false;
  std::uint8_t* const memory = pool_.Take();
  if (memory == nullptr) {
    budget_.Give(kPageCost);
    return false;
  }
  Page* const page = ::new (memory) Page;
  page->taken.fill(0);
  page->size_class = static_cast<std::uint16_t>(size_class);
  page->capacity = static_cast<std::uint16_t>(kCellBytes / ClassBytes(size_class));
  // A mask of 256 bits: sizes below 32 bytes leave the rest of the page unused.
  if (page->capacity > 256) page->capacity = 256;
  page->live = 0;
  page->pins = 0;
  page->emptying = false;
  std::uint32_t index;
  free_cells_[size_class] += page->capacity;
  if (unused_indexes_.empty()) {
    index = static_cast<std::uint32_t>(pages_.size());
    pages_.push_back(page);
  } else {
    index = unused_indexes_.back();
    unused_indexes_.pop_back();
    pages_[index] = page;
  }
  LinkPage(index);
  return true;
}

void CellStore::ReleasePage(std::uint32_t index) {
  Page* const page = pages_[index];
  if (!page->emptying) {
    UnlinkPage(index);
    free_cells_[page->size_class] -= page->capacity;
  }
  pages_[index] = nullptr;
  pool_.Give(reinterpret_cast<std::uint8_t*>(page));
  unused_indexes_.push_back(index);
  budget_.Give(kPageCost);
  ++released_pages_;
}

void CellStore::LinkPage(std::uint32_t index) {
  Page& page = *pages_[index];
  std::uint32_t& first = with_room_[page.size_class];
  page.previous = kNoPage;
  page.next = first;
  if (first != kNoPage) pages_[first]->previous = index;
  first = index;
}

void CellStore::UnlinkPage(std::uint32_t index) {
  const Page& page = *pages_[index];
  if (page.previous == kNoPage) {
    with_room_[page.size_class] = page.next;
  } else {
    pages_[page.previous]->next = page.next;
  }
  if (page.next != kNoPage) pages_[page.next]->previous = page.previous;
}

}  // namespace wafstate
