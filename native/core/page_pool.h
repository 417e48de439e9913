// Where the pages of a table lie: in chunks of 2 MiB that the system can map as one page each. A record of a
// large table is looked for at random, and with pages of 4 KiB the processor then reads its page tables from
// memory before it reads the record.
//
// Only what is large already asks for that: a chunk takes its 2 MiB with its first page then, and the table
// must not become much larger by it than its bounds tell. Chunks go back to the system whole; pages of others
// are used again by whatever shard asks first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace wafstate {

class PagePool {
 public:
  static constexpr std::size_t kPageBytes = 8192;
  static constexpr std::size_t kChunkBytes = std::size_t{2} << 20;

  PagePool() = default;
  // All pages are gone with it.
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // kPageBytes, aligned to as many, with anything in them; null where the system has no memory. Any thread.
  [[nodiscard]] std::uint8_t* Take();
  // REQUIRES: Take gave it.
  void Give(std::uint8_t* page);
  // Half a page, for what stays as long as the pool.
  [[nodiscard]] std::uint8_t* TakeHalf();

  // Bytes that are mapped now.
  [[nodiscard]] std::size_t MappedBytes();

 private:
  static constexpr std::size_t kPages = kChunkBytes / kPageBytes;
  // So many chunks are of small pages: 16 MiB, of which the uncounted rest of a chunk is an eighth.
  static constexpr std::size_t kSmallChunks = 8;

  // A bit for each page that is taken.
  struct Chunk {
    std::array<std::uint64_t, kPages / 64> taken{};
    std::size_t live = 0;
  };
  using Chunks = std::map<std::uint8_t*, Chunk>;

  [[nodiscard]] std::uint8_t* TakeLocked();
  [[nodiscard]] std::uint8_t* AddChunk();

  std::mutex mutex_;
  // The second half of a page of which the first was taken; null = none.
  std::uint8_t* half_ = nullptr;
  Chunks chunks_;
  // The lowest is filled first, so that the others can empty.
  std::set<std::uint8_t*> with_room_;
};

}  // namespace wafstate
