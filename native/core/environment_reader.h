// Reads from an environment, on one thread.
//
// The read transaction keeps its slot in the reader table from the first read on, but is open only within a
// call: a reader that stays on a snapshot keeps LMDB from using freed pages again, and the file grows.
#pragma once

#include <span>

#include "core/environment.h"

namespace wafstate {

// Of Scan.
struct ScanQuery {
  Bytes from;
  bool exclusive = false;
  // First bytes that every key must have.
  Bytes prefix;
  // Records to look at, at most.
  std::size_t limit = 0;
  bool corrupt_only = false;
};

struct EnvironmentFigures {
  std::uint64_t map_size = 0;
  std::uint64_t page_size = 0;
  std::uint64_t used_pages = 0;
  std::uint64_t free_pages = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t readers = 0;
  std::uint64_t max_readers = 0;
  std::uint64_t revision = 0;
  bool relaxed = false;
};

class EnvironmentReader {
 public:
  // REQUIRES: the environment outlives the reader.
  explicit EnvironmentReader(Environment& environment) : environment_(environment) {}
  ~EnvironmentReader();
  EnvironmentReader(const EnvironmentReader&) = delete;
  EnvironmentReader& operator=(const EnvironmentReader&) = delete;

  // Puts the record at the start of `scratch`, verified. `size` 0: absent or timed out at `now`. Larger than
  // `scratch`: nothing was written. `key` may lie in `scratch`.
  Fault Load(Bytes key, std::int64_t now, std::span<std::uint8_t> scratch, std::size_t& size);
  // The same, whatever the bytes are.
  Fault LoadRaw(Bytes key, std::span<std::uint8_t> scratch, std::size_t& size);

  // One page in the grammar of src/backend/lmdb/native-addon.ts. `size` as in Load; the query may lie in
  // `scratch`.
  Fault Scan(const ScanQuery& query, std::span<std::uint8_t> scratch, std::size_t& size);

  Fault Figures(EnvironmentFigures& figures);

 private:
  class View;
  Fault Renew();
  Fault Find(Bytes key, Bytes& record, bool& found);

  Environment& environment_;
  MDB_txn* txn_ = nullptr;
  // Copies of what Scan must keep while it overwrites the scratch.
  Buffer from_;
  Buffer prefix_;
};

}  // namespace wafstate
