// The shared table with many threads, for ThreadSanitizer above all.

#include <string>
#include <thread>

#include "core/shared_table.h"
#include "test/check.h"
#include "test/request_builder.h"

namespace {

using namespace wafstate;
using namespace wafstate::test;

constexpr std::int64_t kNow = 1'700'000'000 * kSecond;
constexpr int kThreads = 8;
constexpr std::int64_t kIncrements = 2000;

std::int64_t Counter(SharedTable& table, std::string_view key) {
  Buffer record;
  RecordView view;
  if (!table.Load(KeyOf(key), record) || view.Open(record) != Corruption::kNone) return -1;
  VariableCursor cursor = view.variables();
  Variable variable;
  return cursor.Next(variable) ? variable.integer : -1;
}

TEST_CASE(NoIncrementIsLost) {
  // At its bound all the while, so that commits, evictions, sweeps and scans meet.
  SharedTable table({.max_bytes = 8 << 20, .max_records = 8192, .evicts = true}, {.first = 3, .second = 4});
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, &failures, t] {
      TableSession session;
      Buffer reply;
      Buffer buffer;
      for (int i = 0; i < kIncrements; ++i) {
        const std::int64_t now = kNow + i * kSecond / 100;
        RequestBuilder request(now);
        request.Write("a").Add("n", 1).Expire("n", kNow + 7200 * kSecond);
        // In either order: the table locks in its own.
        request.Write("b").Add("n", 2).Expire("n", kNow + 7200 * kSecond);
        const std::string other = std::to_string(t) + "/" + std::to_string(i);
        request.Write(other).Add("n", 1).Expire("n", now + kSecond);
        reply.clear();
        table.Commit(request.bytes(), session, reply);
        if (reply[4] != 0) ++failures;
        RequestBuilder single(now);
        single.Write(other + "x").Set("v", Bytes(reply).first(std::min<std::size_t>(reply.size(), 60)));
        reply.clear();
        table.Commit(single.bytes(), session, reply);
        if (reply[4] != 0) ++failures;
        if (i % 50 == t) {
          SweepCounts counts;
          (void)table.CleanUp(now, {.records = 100, .variables = 1000}, counts, buffer);
        }
        if (i % 500 == 100 + t) {
          TableScan scan{.prefix = {}, .after = {}, .limit = 10, .now = now, .hidden = true, .found = {}};
          while (!table.Scan(scan, 500)) {
          }
          if (scan.found.size() != 10) ++failures;
        }
        (void)table.Stats();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(failures == 0);
  CHECK(Counter(table, "a") == kThreads * kIncrements);
  CHECK(Counter(table, "b") == kThreads * kIncrements * 2);
  CHECK(table.Stats().records <= 8192);
  CHECK(table.Stats().bytes <= 8 << 20);
}

TEST_CASE(OneTableWhoeverOpensItFirst) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  std::array<SharedTable*, kThreads> tables{};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&tables, t] {
      tables[static_cast<std::size_t>(t)] =
          &OpenSharedTable("race", {.max_bytes = 1 << 20, .max_records = 10, .evicts = true});
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const SharedTable* table : tables)
    CHECK(table == tables[0]);
}

}  // namespace

TEST_MAIN("shared_table_threads_test")
