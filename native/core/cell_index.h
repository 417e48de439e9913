// A hash table of cells that grows by one bucket at a time, so that no insert ever waits for a whole table to
// be moved: linear hashing (Litwin, "Linear hashing: a new tool for file and table addressing", 1980).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "core/cell_store.h"

namespace wafstate {

// Chains cells by their first four bytes. Knows hashes only: who looks up compares.
class CellIndex {
 public:
  // The first segment is part of it; what is added is taken from `bytes`.
  CellIndex(CellStore& cells, Budget& bytes, PagePool& pool) : cells_(cells), bytes_(bytes), pool_(pool) {
    first_segment_.fill(kNoCell);
    segments_.push_back(first_segment_.data());
  }
  CellIndex(const CellIndex&) = delete;
  CellIndex& operator=(const CellIndex&) = delete;

  static constexpr std::size_t kSegmentBuckets = PagePool::kPageBytes / 2 / sizeof(CellRef);
  // With its place in the list of segments, which may be twice as long as it is full.
  static constexpr std::uint64_t kSegmentCost = kSegmentBuckets * sizeof(CellRef) + 2 * sizeof(CellRef*);

  [[nodiscard]] CellRef First(std::uint64_t hash) const { return Bucket(BucketOf(hash)); }
  [[nodiscard]] CellRef Next(CellRef ref) { return Chain(ref); }

  void Insert(std::uint64_t hash, CellRef ref) {
    CellRef& first = Bucket(BucketOf(hash));
    Chain(ref) = first;
    first = ref;
    ++size_;
  }
  // REQUIRES: `ref` is in the index under this hash.
  void Remove(std::uint64_t hash, CellRef ref) {
    LinkTo(hash, ref) = Chain(ref);
    --size_;
  }
  // `to`, whose chain is a copy of that of `from`, takes its place.
  void Replace(std::uint64_t hash, CellRef from, CellRef to) { LinkTo(hash, from) = to; }

  // Splits a bucket if there are more cells than buckets and memory for another. To be called after an
  // insert. `hash_of` gives the hash of a cell.
  template <typename HashOf>
  void Grow(const HashOf& hash_of) {
    if (size_ <= buckets()) return;
    const std::size_t added = buckets();
    if (added % kSegmentBuckets == 0) {
      if (!AddSegment()) return;
    }
    const std::size_t split = added - (std::size_t{1} << level_);
    CellRef stay = kNoCell;
    CellRef move = kNoCell;
    for (CellRef ref = Bucket(split); ref != kNoCell;) {
      const CellRef next = Chain(ref);
      CellRef& to = (hash_of(ref) >> level_ & 1) == 0 ? stay : move;
      Chain(ref) = to;
      to = ref;
      ref = next;
    }
    Bucket(split) = stay;
    Bucket(added) = move;
    if (++split_ == std::size_t{1} << level_) {
      split_ = 0;
      ++level_;
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  // A cell is in the same bucket for ever, or moves to one that is added at the end.
  [[nodiscard]] std::size_t buckets() const { return (std::size_t{1} << level_) + split_; }
  [[nodiscard]] CellRef Bucket(std::size_t bucket) const {
    return segments_[bucket / kSegmentBuckets][bucket % kSegmentBuckets];
  }

 private:
  [[nodiscard]] CellRef& Bucket(std::size_t bucket) {
    return segments_[bucket / kSegmentBuckets][bucket % kSegmentBuckets];
  }
  [[nodiscard]] CellRef& Chain(CellRef ref) { return *reinterpret_cast<CellRef*>(cells_.At(ref)); }
  [[nodiscard]] std::size_t BucketOf(std::uint64_t hash) const {
    const std::uint64_t mask = (std::uint64_t{1} << level_) - 1;
    const std::size_t bucket = hash & mask;
    return bucket < split_ ? hash & (mask << 1 | 1) : bucket;
  }
  [[nodiscard]] CellRef& LinkTo(std::uint64_t hash, CellRef ref) {
    CellRef* link = &Bucket(BucketOf(hash));
    while (*link != ref)
      link = &Chain(*link);
    return *link;
  }
  // False where there is no memory for one.
  [[nodiscard]] bool AddSegment() {
    if (!bytes_.Take(kSegmentCost)) return false;
    auto* const segment = reinterpret_cast<CellRef*>(pool_.TakeHalf());
    if (segment == nullptr) {
      bytes_.Give(kSegmentCost);
      return false;
    }
    std::fill_n(segment, kSegmentBuckets, kNoCell);
    segments_.push_back(segment);
    return true;
  }

  CellStore& cells_;
  Budget& bytes_;
  PagePool& pool_;
  // In the pool's memory, but for the first.
  std::vector<CellRef*> segments_;
  std::array<CellRef, kSegmentBuckets> first_segment_;
  std::size_t size_ = 0;
  // 2^level_ buckets, of which the first split_ have been split into the 2^level_ after them.
  std::size_t level_ = 10;
  std::size_t split_ = 0;
};

}  // namespace wafstate
