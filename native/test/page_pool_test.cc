// Pages and half pages against a set of those that are taken: none overlap, all are aligned, chunks go back.

#include "core/page_pool.h"

#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "test/check.h"

namespace {

using wafstate::PagePool;

constexpr std::size_t kPagesOfChunk = PagePool::kChunkBytes / PagePool::kPageBytes;

bool IsAligned(const std::uint8_t* page, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(page) % bytes == 0;
}

TEST_CASE(PagesAreApart) {
  PagePool pool;
  std::mt19937_64 random(7);
  std::vector<std::uint8_t*> taken;
  std::set<std::uint8_t*> distinct;
  for (int step = 0; step < 20'000; ++step) {
    if (taken.size() < 1500 && random() % 5 < 3) {
      std::uint8_t* const page = pool.Take();
      CHECK(page != nullptr && IsAligned(page, PagePool::kPageBytes));
      CHECK(distinct.insert(page).second);
      // The whole of it is there.
      std::memset(page, step & 0xff, PagePool::kPageBytes);
      taken.push_back(page);
    } else if (!taken.empty()) {
      const std::size_t at = random() % taken.size();
      pool.Give(taken[at]);
      distinct.erase(taken[at]);
      taken[at] = taken.back();
      taken.pop_back();
    }
  }
  for (std::uint8_t* const page : taken)
    pool.Give(page);
  // One chunk is kept for what comes next.
  CHECK(pool.MappedBytes() == PagePool::kChunkBytes);
}

TEST_CASE(ChunksGoBackWhole) {
  PagePool pool;
  CHECK(pool.MappedBytes() == 0);
  std::vector<std::uint8_t*> taken;
  for (std::size_t i = 0; i < 12 * kPagesOfChunk; ++i)
    taken.push_back(pool.Take());
  CHECK(pool.MappedBytes() == 12 * PagePool::kChunkBytes);
  // A page of a chunk is enough to keep it.
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (i % kPagesOfChunk != 0) pool.Give(taken[i]);
  CHECK(pool.MappedBytes() == 12 * PagePool::kChunkBytes);
  for (std::size_t i = 0; i < taken.size(); i += kPagesOfChunk)
    pool.Give(taken[i]);
  CHECK(pool.MappedBytes() == PagePool::kChunkBytes);
}

TEST_CASE(HalvesShareAPage) {
  PagePool pool;
  std::uint8_t* const first = pool.TakeHalf();
  std::uint8_t* const page = pool.Take();
  std::uint8_t* const second = pool.TakeHalf();
  std::uint8_t* const third = pool.TakeHalf();
  CHECK(second == first + PagePool::kPageBytes / 2);
  CHECK(page != first && third != page && third != first);
  std::memset(third, 1, PagePool::kPageBytes / 2);
}

TEST_CASE(ThreadsShareIt) {
  PagePool pool;
  // Pages that were found as they were left.
  const auto work = [&pool](std::uint8_t mark, int& kept) {
    std::vector<std::uint8_t*> taken;
    for (int round = 0; round < 50; ++round) {
      for (int i = 0; i < 40; ++i) {
        taken.push_back(pool.Take());
        std::memset(taken.back(), mark, PagePool::kPageBytes);
      }
      for (std::uint8_t* const page : taken) {
        kept += page[0] == mark && page[PagePool::kPageBytes - 1] == mark ? 1 : 0;
        pool.Give(page);
      }
      taken.clear();
    }
  };
  int mine = 0;
  int others = 0;
  std::thread other([&work, &others] { work(1, others); });
  work(2, mine);
  other.join();
  CHECK(mine == 50 * 40);
  CHECK(others == 50 * 40);
}

}  // namespace

TEST_MAIN("page_pool_test")
