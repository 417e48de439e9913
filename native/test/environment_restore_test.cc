// Records put back as they were, and a link in the place of the data file.
#include "core/environment_restore.h"

#include <unistd.h>

#include <cerrno>
#include <initializer_list>

#include "core/checksum.h"
#include "test/check.h"
#include "test/environment_fixture.h"

namespace wafstate::test {

namespace {

Fault OpenIn(const Directory& directory, EnvironmentReference& environment) {
  return environment.Open(Options(directory.path()));
}

Buffer Pack(std::initializer_list<Bytes> records) {
  Buffer packed;
  for (const Bytes record : records) {
    Append(packed, static_cast<std::uint32_t>(record.size()));
    Append(packed, record);
  }
  return packed;
}

Buffer StoredRecord(Environment& environment, std::string_view key) {
  EnvironmentReader reader(environment);
  Buffer scratch(65536);
  std::size_t size = 0;
  CHECK(!reader.LoadRaw(KeyOf(key), scratch, size));
  scratch.resize(size);
  return scratch;
}

void Commit(Environment& environment, Bytes batch) {
  EnvironmentWriter writer(environment);
  Bytes reply;
  CHECK(!writer.Execute(1, 1, batch, reply));
  for (const Answer& answer : Answers(reply))
    CHECK(answer.status == Status::kApplied);
}

std::uint64_t RevisionOf(Bytes record) {
  RecordView view;
  CHECK(view.Open(record) == Corruption::kNone);
  return view.revision();
}

// What differs between the two but the revision and the checksum.
bool SameButForRevision(Bytes a, Bytes b) {
  constexpr std::size_t kBefore = 8;
  constexpr std::size_t kAfter = 16;
  if (a.size() != b.size()) return false;
  const std::size_t body = a.size() - kAfter - 4;
  return Equal(a.first(kBefore), b.first(kBefore)) && Equal(a.subspan(kAfter, body), b.subspan(kAfter, body));
}

TEST_CASE(RestoresUnderNewRevisions) {
  const Directory directory;
  EnvironmentReference environment;
  CHECK(!OpenIn(directory, environment));
  Commit(*environment, BatchBuilder().Add("a", "n", 7).bytes());
  const Buffer old = StoredRecord(*environment, "a");
  Commit(*environment, BatchBuilder().Add("a", "n", 1).bytes());
  const std::uint64_t current = RevisionOf(StoredRecord(*environment, "a"));

  RestoreResult result;
  CHECK(!RestoreRecords(*environment, Pack({old}), RestoreConflict::kSkip, kNow, result));
  CHECK(result.restored == 0 && result.skipped == 1 && !result.conflict);
  CHECK(RevisionOf(StoredRecord(*environment, "a")) == current);

  CHECK(!RestoreRecords(*environment, Pack({old}), RestoreConflict::kReplace, kNow, result));
  CHECK(result.restored == 1 && result.skipped == 0);
  const Buffer restored = StoredRecord(*environment, "a");
  CHECK(SameButForRevision(restored, old));
  CHECK(RevisionOf(restored) > current);

  // And the next commit goes on behind it.
  Commit(*environment, BatchBuilder().Add("a", "n", 1).bytes());
  CHECK(RevisionOf(StoredRecord(*environment, "a")) > RevisionOf(restored));
}

TEST_CASE(AConflictThatFailsRestoresNothing) {
  const Directory directory;
  EnvironmentReference environment;
  CHECK(!OpenIn(directory, environment));
  Commit(*environment, BatchBuilder().Add("a", "n", 1).Add("b", "n", 1).bytes());
  const Buffer a = StoredRecord(*environment, "a");
  const Buffer b = StoredRecord(*environment, "b");
  Commit(*environment, BatchBuilder().RemoveRecord("a").bytes());
  RestoreResult result;
  CHECK(!RestoreRecords(*environment, Pack({a, b}), RestoreConflict::kFail, kNow, result));
  CHECK(result.conflict && result.restored == 0);
  CHECK(StoredRecord(*environment, "a").empty());
}

TEST_CASE(WhatIsNoRecordRestoresNothing) {
  const Directory directory;
  EnvironmentReference environment;
  CHECK(!OpenIn(directory, environment));
  Commit(*environment, BatchBuilder().Add("a", "n", 1).bytes());
  const Buffer a = StoredRecord(*environment, "a");
  Commit(*environment, BatchBuilder().RemoveRecord("a").bytes());
  RestoreResult result;
  // Cut at every length, and every byte changed in turn.
  const Buffer packed = Pack({a, a});
  for (std::size_t size = a.size() + 5; size < packed.size(); ++size) {
    const Fault fault =
        RestoreRecords(*environment, Bytes(packed).first(size), RestoreConflict::kReplace, kNow, result);
    CHECK(fault.failure == Failure::kCorrupt);
  }
  for (std::size_t at = a.size() + 4; at < packed.size(); ++at) {
    Buffer changed = packed;
    changed[at] ^= 0x20;
    CHECK(RestoreRecords(*environment, changed, RestoreConflict::kReplace, kNow, result).failure ==
          Failure::kCorrupt);
  }
  CHECK(StoredRecord(*environment, "a").empty());
}

TEST_CASE(AFullMapRestoresNothing) {
  const Directory directory;
  EnvironmentOptions options = Options(directory.path());
  options.map_size = std::uint64_t{1} << 20;
  EnvironmentReference environment;
  CHECK(!environment.Open(options));
  const std::string value(20'000, 'v');
  Commit(*environment, BatchBuilder().Set("a", "n", value).bytes());
  const Buffer record = StoredRecord(*environment, "a");
  Buffer packed;
  for (int i = 0; i < 80; ++i) {
    Buffer other = record;
    // The key's only byte, behind the header of 40 bytes.
    other[40] = static_cast<std::uint8_t>(i + 100);
    const std::size_t body = other.size() - 4;
    Store(other.data() + body, Checksum(Bytes(other).first(body)));
    Append(packed, static_cast<std::uint32_t>(other.size()));
    Append(packed, Bytes(other));
  }
  RestoreResult result;
  CHECK(RestoreRecords(*environment, packed, RestoreConflict::kReplace, kNow, result).failure ==
        Failure::kMapFull);
  CHECK(StoredRecord(*environment, "d").empty());
  Commit(*environment, BatchBuilder().RemoveRecord("a").bytes());
}

TEST_CASE(ALinkIsNotFollowed) {
  const Directory directory;
  const Directory target;
  {
    EnvironmentReference environment;
    CHECK(!OpenIn(target, environment));
  }
  const std::string link = directory.path() + "/data.mdb";
  CHECK(symlink((target.path() + "/data.mdb").c_str(), link.c_str()) == 0);
  EnvironmentReference environment;
  const Fault fault = OpenIn(directory, environment);
  CHECK(fault.failure != Failure::kNone && fault.code == ELOOP);
}

}  // namespace

}  // namespace wafstate::test

TEST_MAIN("environment_restore_test")
