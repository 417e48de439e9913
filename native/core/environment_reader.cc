#include "core/environment_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "core/environment_layout.h"
#include "core/record_key.h"

namespace wafstate {

namespace {

struct CloseCursor {
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using Cursor = std::unique_ptr<MDB_cursor, CloseCursor>;

Fault OpenCursor(MDB_txn* txn, MDB_dbi dbi, Cursor& cursor) {
  MDB_cursor* opened = nullptr;
  const int code = mdb_cursor_open(txn, dbi, &opened);
  if (code != 0) return FaultOf(code, "open a cursor");
  cursor.reset(opened);
  return {};
}

void Copy(Bytes from, std::span<std::uint8_t> to) {
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

bool BeginsWith(Bytes bytes, Bytes prefix) {
  return bytes.size() >= prefix.size() && Equal(bytes.first(prefix.size()), prefix);
}

// Fills a scan's page from the front. The layout is that of src/backend/lmdb/native-addon.ts; the last key
// looked at, which stands before the entries but is known only at the end, has a place kept for the longest
// key.
class PageWriter {
 public:
  static constexpr std::size_t kHeaderBytes = 12;
  static constexpr std::size_t kEntryHeaderBytes = 8;
  static constexpr std::size_t kEntriesAt = kHeaderBytes + kMaxRecordKeyBytes;

  explicit PageWriter(std::span<std::uint8_t> scratch) : scratch_(scratch) {}

  [[nodiscard]] static std::size_t BytesFor(Bytes key, Bytes record) {
    return kEntryHeaderBytes + key.size() + record.size();
  }
  [[nodiscard]] bool Fits(Bytes key, Bytes record) const {
    return end_ <= scratch_.size() && BytesFor(key, record) <= scratch_.size() - end_;
  }
  [[nodiscard]] std::uint32_t entries() const { return entries_; }
  [[nodiscard]] std::uint32_t examined() const { return examined_; }

  // REQUIRES: Fits.
  void Add(Bytes key, Bytes record, Corruption corruption) {
    std::uint8_t* at = scratch_.data() + end_;
    Store(at, static_cast<std::uint16_t>(key.size()));
    at[2] = static_cast<std::uint8_t>(corruption);
    at[3] = 0;
    Store(at + 4, static_cast<std::uint32_t>(record.size()));
    Copy(key, scratch_.subspan(end_ + kEntryHeaderBytes, key.size()));
    Copy(record, scratch_.subspan(end_ + kEntryHeaderBytes + key.size(), record.size()));
    end_ += BytesFor(key, record);
    ++entries_;
  }

  void Examined(Bytes key) {
    ++examined_;
    last_key_ = key;
  }

  // Closes the gap that the last key leaves. REQUIRES: the scratch has kEntriesAt bytes; the keys given are
  // still there.
  [[nodiscard]] std::size_t Finish(bool at_end) {
    std::uint8_t* const at = scratch_.data();
    Store(at, entries_);
    Store(at + 4, examined_);
    at[8] = at_end ? 1 : 0;
    at[9] = 0;
    Store(at + 10, static_cast<std::uint16_t>(last_key_.size()));
    Copy(last_key_, scratch_.subspan(kHeaderBytes, last_key_.size()));
    const std::size_t entry_bytes = end_ - kEntriesAt;
    std::memmove(at + kHeaderBytes + last_key_.size(), at + kEntriesAt, entry_bytes);
    return kHeaderBytes + last_key_.size() + entry_bytes;
  }

 private:
  const std::span<std::uint8_t> scratch_;
  std::size_t end_ = kEntriesAt;
  std::uint32_t entries_ = 0;
  std::uint32_t examined_ = 0;
  Bytes last_key_;
};

}  // namespace

// The newest snapshot, from construction to the end of its life.
class EnvironmentReader::View {
 public:
  explicit View(EnvironmentReader& reader) : reader_(reader), fault_(reader.Renew()) {}
  ~View() {
    if (!fault_) mdb_txn_reset(reader_.txn_);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  [[nodiscard]] const Fault& fault() const { return fault_; }

 private:
  EnvironmentReader& reader_;
  const Fault fault_;
};

EnvironmentReader::~EnvironmentReader() {
  // The slot of a forked child's transaction is the parent's.
  if (txn_ != nullptr && !environment_.IsForked()) mdb_txn_abort(txn_);
}

Fault EnvironmentReader::Renew() {
  if (environment_.IsForked()) return {.failure = Failure::kForked, .step = "read"};
  environment_.FollowGrowth();
  if (txn_ == nullptr) return environment_.BeginRead(&txn_);
  const int code = mdb_txn_renew(txn_);
  return code == 0 ? Fault{} : FaultOf(code, "renew the read transaction");
}

Fault EnvironmentReader::Find(Bytes key, Bytes& record, bool& found) {
  MDB_val lmdb_key = ToValue(key);
  MDB_val lmdb_value;
  const int code = mdb_get(txn_, environment_.records(), &lmdb_key, &lmdb_value);
  found = code == 0;
  if (found) record = FromValue(lmdb_value);
  return code == 0 || code == MDB_NOTFOUND ? Fault{} : FaultOf(code, "get");
}

Fault EnvironmentReader::Load(Bytes key, std::int64_t now, std::span<std::uint8_t> scratch,
                              std::size_t& size) {
  size = 0;
  const View view(*this);
  if (view.fault()) return view.fault();
  Bytes stored;
  bool found = false;
  if (const Fault fault = Find(key, stored, found)) return fault;
  if (!found) return {};
  RecordView record;
  const Corruption corruption = OpenStored(key, stored, record);
  if (corruption != Corruption::kNone) {
    return {.failure = Failure::kCorrupt, .step = "load", .code = static_cast<int>(corruption)};
  }
  if (record.facts().IsTimedOut(now)) return {};
  size = stored.size();
  if (size <= scratch.size()) Copy(stored, scratch);
  return {};
}

Fault EnvironmentReader::LoadRaw(Bytes key, std::span<std::uint8_t> scratch, std::size_t& size) {
  size = 0;
  const View view(*this);
  if (view.fault()) return view.fault();
  Bytes stored;
  bool found = false;
  if (const Fault fault = Find(key, stored, found)) return fault;
  size = stored.size();
  if (size <= scratch.size()) Copy(stored, scratch);
  return {};
}

Fault EnvironmentReader::Scan(const ScanQuery& query, std::span<std::uint8_t> scratch, std::size_t& size) {
  size = 0;
  prefix_.assign(query.prefix.begin(), query.prefix.end());
  const Bytes first(kFirstRecordKey);
  const Bytes prefix_start = Compare(query.prefix, first) < 0 ? first : query.prefix;
  const bool from_prefix = Compare(query.from, prefix_start) < 0;
  const Bytes start = from_prefix ? prefix_start : query.from;
  const bool exclusive = query.exclusive && !from_prefix;
  from_.assign(start.begin(), start.end());

  if (scratch.size() < PageWriter::kEntriesAt) {
    size = PageWriter::kEntriesAt;
    return {};
  }
  const View view(*this);
  if (view.fault()) return view.fault();
  Cursor cursor;
  if (const Fault fault = OpenCursor(txn_, environment_.records(), cursor)) return fault;
  MDB_val lmdb_key = ToValue(from_);
  MDB_val lmdb_value;
  int code = mdb_cursor_get(cursor.get(), &lmdb_key, &lmdb_value, MDB_SET_RANGE);
  if (code == 0 && exclusive && Equal(FromValue(lmdb_key), from_)) {
    code = mdb_cursor_get(cursor.get(), &lmdb_key, &lmdb_value, MDB_NEXT);
  }
  PageWriter page(scratch);
  RecordView record;
  bool at_end = false;
  for (;;) {
    if (code != 0 && code != MDB_NOTFOUND) return FaultOf(code, "scan");
    const Bytes key = FromValue(lmdb_key);
    at_end = code == MDB_NOTFOUND || !BeginsWith(key, prefix_);
    if (at_end || page.examined() == query.limit) break;
    const Corruption corruption = OpenStored(key, FromValue(lmdb_value), record);
    const Bytes shown = corruption == Corruption::kNone ? FromValue(lmdb_value) : Bytes{};
    if (corruption != Corruption::kNone || !query.corrupt_only) {
      if (!page.Fits(key, shown)) {
        if (page.examined() > 0) break;
        size = PageWriter::kEntriesAt + PageWriter::BytesFor(key, shown);
        return {};
      }
      page.Add(key, shown, corruption);
    }
    page.Examined(key);
    code = mdb_cursor_get(cursor.get(), &lmdb_key, &lmdb_value, MDB_NEXT);
  }
  size = page.Finish(at_end);
  return {};
}

Fault EnvironmentReader::Figures(EnvironmentFigures& figures) {
  const View view(*this);
  if (view.fault()) return view.fault();
  MDB_env* const env = environment_.env();
  MDB_envinfo info;
  MDB_stat records;
  MDB_stat free_list;
  int code = mdb_env_info(env, &info);
  if (code == 0) code = mdb_stat(txn_, environment_.records(), &records);
  if (code == 0) code = mdb_stat(txn_, kFreeListDatabase, &free_list);
  if (code != 0) return FaultOf(code, "stat");
  const auto pages = [](const MDB_stat& stat) {
    return stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
  };
  constexpr std::uint64_t kMetaPages = 2;
  figures.map_size = environment_.options().map_size;
  figures.relaxed = environment_.options().relaxed;
  figures.page_size = records.ms_psize;
  figures.used_pages = pages(records) + pages(free_list) + kMetaPages;
  // A commit may come between the snapshot and the figure of the file.
  const std::uint64_t file_pages = std::max<std::uint64_t>(info.me_last_pgno + 1, figures.used_pages);
  figures.free_pages = file_pages - figures.used_pages;
  figures.file_bytes = file_pages * records.ms_psize;
  figures.readers = info.me_numreaders;
  figures.max_readers = info.me_maxreaders;

  mdb_filehandle_t file = -1;
  struct stat status;
  constexpr std::uint64_t kBlockBytes = 512;
  if (mdb_env_get_fd(env, &file) == 0 && fstat(file, &status) == 0) {
    figures.disk_bytes = static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes;
  }

  Bytes revision;
  bool found = false;
  if (const Fault fault = Find(kRevisionKey, revision, found)) return fault;
  figures.revision =
      found && revision.size() == sizeof(std::uint64_t) ? wafstate::Load<std::uint64_t>(revision.data()) : 0;

  Cursor cursor;
  if (const Fault fault = OpenCursor(txn_, environment_.records(), cursor)) return fault;
  figures.records = records.ms_entries;
  MDB_val key;
  MDB_val value;
  code = mdb_cursor_get(cursor.get(), &key, &value, MDB_FIRST);
  for (; code == 0 && Compare(FromValue(key), kFirstRecordKey) < 0 && figures.records > 0;
       --figures.records) {
    code = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT);
  }
  return code == 0 || code == MDB_NOTFOUND ? Fault{} : FaultOf(code, "count records");
}

}  // namespace wafstate
