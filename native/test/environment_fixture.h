// What the tests of LMDB environments share: directories that go away, requests, and a look at replies.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/environment.h"
#include "core/environment_reader.h"
#include "core/environment_writer.h"
#include "core/record_key.h"
#include "core/reply.h"

namespace wafstate::test {

constexpr std::int64_t kNow = 1'000'000'000;

// A directory with the gate's inside, as the TypeScript side makes it before it opens.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/wafstate-environment-XXXXXX";
    const char* const made = mkdtemp(name);
    if (made == nullptr) std::abort();
    path_ = made;
    if (mkdir((path_ + kGateDirectory).c_str(), 0700) != 0) std::abort();
  }
  ~Directory() {
    for (const char* file : {"/gate/data.mdb", "/gate/lock.mdb", "/data.mdb", "/lock.mdb"}) {
      unlink((path_ + file).c_str());
    }
    rmdir((path_ + kGateDirectory).c_str());
    rmdir(path_.c_str());
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline EnvironmentOptions Options(const std::string& path) {
  return {.path = path, .map_size = std::uint64_t{64} << 20, .max_readers = 16, .mode = 0600};
}

// Space 1, no application id.
inline Buffer KeyOf(std::string_view name) {
  Buffer key;
  AppendRecordKey(key, {.space = 1, .application_id = {}, .key = ToBytes(name)});
  return key;
}

// Requests with one write of one mutation each, one after the other.
class BatchBuilder {
 public:
  BatchBuilder& Add(std::string_view key, std::string_view name, std::int64_t delta) {
    return Request(key, kAny, 0, Operation::kAdd, name, 8, [&] { Append(bytes_, delta); });
  }
  BatchBuilder& AddAt(std::string_view key, std::uint64_t revision, std::string_view name,
                      std::int64_t delta) {
    return Request(key, kAtRevision, revision, Operation::kAdd, name, 8, [&] { Append(bytes_, delta); });
  }
  BatchBuilder& Set(std::string_view key, std::string_view name, std::string_view value) {
    return Request(key, kAny, 0, Operation::kSet, name, 4 + value.size(), [&] {
      Append(bytes_, static_cast<std::uint32_t>(value.size()));
      Append(bytes_, ToBytes(value));
    });
  }
  BatchBuilder& Expire(std::string_view key, std::string_view name, std::int64_t deadline) {
    return Request(key, kAny, 0, Operation::kExpire, name, 8, [&] { Append(bytes_, deadline); });
  }
  BatchBuilder& RemoveRecord(std::string_view key) {
    return Request(key, kAny, 0, Operation::kRemoveRecord, "", 0, [] {});
  }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  static constexpr std::uint8_t kAny = 0;
  static constexpr std::uint8_t kAtRevision = 2;

  template <typename Operands>
  BatchBuilder& Request(std::string_view key, std::uint8_t expectation, std::uint64_t revision,
                        Operation operation, std::string_view name, std::size_t operand_bytes,
                        const Operands& operands) {
    constexpr std::size_t kFixedBytes = 20 + 24 + 4;
    Append(bytes_, static_cast<std::uint32_t>(kFixedBytes + key.size() + name.size() + operand_bytes));
    Append(bytes_, std::uint32_t{64} << 20);
    Append(bytes_, std::uint16_t{4096});
    Append(bytes_, std::uint16_t{1});
    Append(bytes_, kNow);
    for (const std::uint8_t byte : {std::uint8_t{1}, std::uint8_t{0}})
      bytes_.push_back(byte);
    Append(bytes_, static_cast<std::uint16_t>(key.size()));
    for (const std::uint8_t byte : {expectation, std::uint8_t{0}})
      bytes_.push_back(byte);
    Append(bytes_, std::uint16_t{1});
    Append(bytes_, revision);
    Append(bytes_, std::int64_t{0});
    Append(bytes_, ToBytes(key));
    for (const std::uint8_t byte : {static_cast<std::uint8_t>(operation), std::uint8_t{0}})
      bytes_.push_back(byte);
    Append(bytes_, static_cast<std::uint16_t>(name.size()));
    Append(bytes_, ToBytes(name));
    operands();
    return *this;
  }

  Buffer bytes_;
};

struct Answer {
  Status status = Status::kApplied;
  std::uint64_t revision = 0;  // of the first write, where applied
  std::uint64_t limit = 0;
  std::uint64_t actual = 0;
};

inline std::vector<Answer> Answers(Bytes reply) {
  std::vector<Answer> answers;
  for (std::size_t at = 0; at < reply.size(); at += Load<std::uint32_t>(reply.data() + at)) {
    const std::uint8_t* const answer = reply.data() + at;
    Answer& read = answers.emplace_back();
    read.status = static_cast<Status>(answer[4]);
    if (read.status == Status::kApplied) {
      read.revision = Load<std::uint64_t>(answer + 8);
    } else {
      read.limit = Load<std::uint64_t>(answer + 12);
      read.actual = Load<std::uint64_t>(answer + 20);
    }
  }
  return answers;
}

inline std::size_t Count(const std::vector<Answer>& answers, Status status) {
  std::size_t count = 0;
  for (const Answer& answer : answers)
    count += answer.status == status ? 1 : 0;
  return count;
}

// An environment with all that a thread needs of it.
struct Opened {
  explicit Opened(const EnvironmentOptions& options) : fault(reference.Open(options)) {
    if (fault) return;
    reader.emplace(*reference);
    writer.emplace(*reference);
  }

  // The answers to the batch; none where it was not even tried.
  std::vector<Answer> Execute(const BatchBuilder& batch) {
    Bytes reply;
    ++sequence;
    return writer->Execute(1, sequence, batch.bytes(), reply) ? std::vector<Answer>() : Answers(reply);
  }

  // The one integer of a record; -1 where it is absent, -2 where it cannot be read.
  std::int64_t Counter(std::string_view key) {
    std::uint8_t scratch[1024];
    std::size_t size = 0;
    if (reader->Load(KeyOf(key), kNow, scratch, size)) return -2;
    if (size == 0) return -1;
    RecordView record;
    Variable variable;
    if (record.Open({scratch, size}) != Corruption::kNone || !record.variables().Next(variable)) return -2;
    return variable.integer;
  }

  EnvironmentReference reference;
  const Fault fault;
  std::optional<EnvironmentReader> reader;
  std::optional<EnvironmentWriter> writer;
  std::uint64_t sequence = 0;
};

// Puts bytes under a key without asking whether they make sense.
inline bool PutRaw(Environment& environment, Bytes key, Bytes value) {
  Gate::Pass pass;
  if (environment.gate().Enter(pass)) return false;
  WriteTransaction transaction(environment, pass);
  return !transaction.Begin() && !transaction.Put(key, value) && !transaction.Commit();
}

}  // namespace wafstate::test
