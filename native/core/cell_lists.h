// Circular doubly linked lists of cells, whose links lie in the cells, with heads in the same number space: a
// cell leaves its list in constant time without knowing which it is.
#pragma once

#include <vector>

#include "core/cell_store.h"

namespace wafstate {

struct CellLinks {
  CellRef previous;
  CellRef next;
};

class CellLists {
 public:
  // `offset` is where in a cell its links for these lists are; kFirstHead + i is the head of list i.
  CellLists(CellStore& cells, std::size_t offset, std::size_t lists)
      : cells_(cells), offset_(offset), heads_(lists) {
    for (std::size_t i = 0; i < lists; ++i)
      Clear(i);
  }

  [[nodiscard]] static bool IsHead(CellRef ref) { return ref >= kFirstHead; }
  [[nodiscard]] bool IsEmpty(std::size_t list) const { return heads_[list].next == Head(list); }
  // The oldest of the list; its head where there is none.
  [[nodiscard]] CellRef First(std::size_t list) const { return heads_[list].next; }
  [[nodiscard]] CellRef Next(CellRef ref) { return At(ref).next; }

  void PushBack(std::size_t list, CellRef ref) {
    CellLinks& head = heads_[list];
    At(ref) = {.previous = head.previous, .next = Head(list)};
    At(head.previous).next = ref;
    head.previous = ref;
  }

  // The head of the list that became empty, or kNoCell.
  CellRef Remove(CellRef ref) {
    const CellLinks links = At(ref);
    At(links.previous).next = links.next;
    At(links.next).previous = links.previous;
    return links.previous == links.next ? links.previous : kNoCell;
  }

  // Moves all of one list to the end of another.
  void Append(std::size_t to, std::size_t from) {
    if (IsEmpty(from)) return;
    const CellLinks moved = heads_[from];
    CellLinks& head = heads_[to];
    At(head.previous).next = moved.next;
    At(moved.next).previous = head.previous;
    At(moved.previous).next = Head(to);
    head.previous = moved.previous;
    Clear(from);
  }

  // The cell `to` is a copy of one that was in a list: its neighbours take it for the one it was.
  void Moved(CellRef to) {
    const CellLinks links = At(to);
    At(links.previous).next = to;
    At(links.next).previous = to;
  }

 private:
  [[nodiscard]] static CellRef Head(std::size_t list) { return kFirstHead + static_cast<CellRef>(list); }
  [[nodiscard]] CellLinks& At(CellRef ref) {
    if (IsHead(ref)) return heads_[ref - kFirstHead];
    return *reinterpret_cast<CellLinks*>(cells_.At(ref) + offset_);
  }
  void Clear(std::size_t list) { heads_[list] = {.previous = Head(list), .next = Head(list)}; }

  CellStore& cells_;
  const std::size_t offset_;
  std::vector<CellLinks> heads_;
};

}  // namespace wafstate
