// Memory for many small pieces, named by 32-bit numbers.
//
//   page   8 KiB of a PagePool, of cells of one size class; a bit a cell tells which are taken
//   class  sizes in steps of 4 bytes to 256, of 32 to 512, of 64 to 1024
//   ref    page index · 2048 + offset in the page / 4; the numbers from kFirstHead on are no cells
//
// A class keeps the pages that have room in a list. A page whose last cell is freed goes back at once. Where
// a class has more free cells than a page and a quarter holds, its owner can empty a page by moving what
// lives in it, so that memory follows what is stored from one class to another: at most a page and a quarter
// a class is free, and a move is paid for by a free.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/budget.h"
#include "core/page_pool.h"

namespace wafstate {

using CellRef = std::uint32_t;

constexpr CellRef kNoCell = 0xffff'ffff;
// From here on numbers are free for heads of lists.
constexpr CellRef kFirstHead = 0xffff'0000;

class CellStore {
 public:
  static constexpr std::size_t kMaxCellBytes = 1024;
  // Bytes that a page takes, with what its place in the list of pages does, which may be twice as long as it
  // is full.
  static constexpr std::uint64_t kPageCost = PagePool::kPageBytes + 2 * sizeof(void*);
  static constexpr std::size_t kClassCount = 64 + 8 + 8;

  CellStore(Budget& budget, PagePool& pool) : budget_(budget), pool_(pool) { with_room_.fill(kNoPage); }

  // REQUIRES: 1 <= bytes <= kMaxCellBytes.
  [[nodiscard]] static constexpr std::size_t ClassOf(std::size_t bytes) {
    if (bytes <= 256) return (bytes - 1) / 4;
    if (bytes <= 512) return 64 + (bytes - 257) / 32;
    return 72 + (bytes - 513) / 64;
  }
  [[nodiscard]] static constexpr std::size_t ClassBytes(std::size_t size_class) {
    if (size_class < 64) return (size_class + 1) * 4;
    if (size_class < 72) return 256 + (size_class - 63) * 32;
    return 512 + (size_class - 71) * 64;
  }

  // A cell of the class; kNoCell where the budget has no page left. Its page is pinned: not emptied before
  // Unpin.
  [[nodiscard]] CellRef Allocate(std::size_t size_class);
  void Unpin(CellRef ref) { --PageOf(ref).pins; }
  void Free(CellRef ref);

  [[nodiscard]] std::uint8_t* At(CellRef ref) {
    return PageOf(ref).cells.data() + std::size_t{ref & kOffsetMask} * kUnit;
  }
  [[nodiscard]] std::size_t SizeClass(CellRef ref) { return PageOf(ref).size_class; }

  // A page to empty: from now on it gives out no cell. nullopt where that is not worth it yet, or every page
  // that was looked at is pinned. The owner must move every cell of it and free the old one, which frees the
  // page.
  [[nodiscard]] std::optional<std::uint32_t> BeginEmptying(std::size_t size_class);
  // The next taken cell of the page after the one given, or its first one after kNoCell.
  [[nodiscard]] CellRef NextTaken(std::uint32_t page, CellRef after);

  // Pages given back so far.
  [[nodiscard]] std::uint64_t released_pages() const { return released_pages_; }

 private:
  static constexpr std::uint32_t kNoPage = 0xffff'ffff;
  static constexpr std::size_t kUnit = 4;
  static constexpr std::uint32_t kOffsetBits = 11;
  static constexpr std::uint32_t kOffsetMask = (1U << kOffsetBits) - 1;
  static constexpr std::uint32_t kMaxPages = kFirstHead >> kOffsetBits;
  static constexpr std::size_t kCellBytes = PagePool::kPageBytes - 32 - 20;

  struct Page {
    std::array<std::uint64_t, 4> taken;
    std::uint32_t next;
    std::uint32_t previous;
    std::uint16_t size_class;
    std::uint16_t capacity;
    std::uint16_t live;
    // Cells that must not move yet.
    std::uint16_t pins;
    bool emptying;
    alignas(kUnit) std::array<std::uint8_t, kCellBytes> cells;
  };
  static_assert(sizeof(Page) == PagePool::kPageBytes);
  [[nodiscard]] Page& PageOf(CellRef ref) { return *pages_[ref >> kOffsetBits]; }
  [[nodiscard]] static CellRef RefOf(std::uint32_t page, std::size_t cell, std::size_t size_class) {
    return static_cast<CellRef>(page << kOffsetBits | cell * (ClassBytes(size_class) / kUnit));
  }
  [[nodiscard]] bool AddPage(std::size_t size_class);
  void ReleasePage(std::uint32_t index);
  void LinkPage(std::uint32_t index);
  void UnlinkPage(std::uint32_t index);

  Budget& budget_;
  PagePool& pool_;
  // In the pool's memory; null where the index is unused.
  std::vector<Page*> pages_;
  std::vector<std::uint32_t> unused_indexes_;
  // First page of each class that has a free cell.
  std::array<std::uint32_t, kClassCount> with_room_;
  std::array<std::uint32_t, kClassCount> free_cells_{};
  std::uint64_t released_pages_ = 0;
};

}  // namespace wafstate
