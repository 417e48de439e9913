// Writes the seeds from which scripts/fuzz-native.sh starts: one of each operation, so that the fuzzer need
// not find the grammars by chance.
//
//   fuzz_seeds DIRECTORY

#include <cstdio>
#include <memory>
#include <string>

#include "test/record_builder.h"

namespace {

using wafstate::Append;
using wafstate::Buffer;
using wafstate::Bytes;
using wafstate::Expectation;
using wafstate::test::BatchBuilder;
using wafstate::test::MakeRecord;

bool WriteSeed(const std::string& path, Bytes record, Bytes batch) {
  Buffer seed;
  Append(seed, static_cast<std::uint16_t>(record.size()));
  Append(seed, record);
  Append(seed, batch);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), std::fclose);
  return file != nullptr && std::fwrite(seed.data(), 1, seed.size(), file.get()) == seed.size();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Buffer record =
      MakeRecord({100, 200, 3, 1000}, {{"a", "5", 300, 100}, {"b", "text", {}, 150}, {"c", {}, 250}});
  BatchBuilder all;
  all.Begin(260).Write().Set("a", "12").Set("b", "x").Add("c", 1).Subtract("a", 2).Expire("b", 900).Expire(
      "a", 900, true);
  all.Deprecate("a", 1, 10, 300).Timeout(50).Remove("b");
  BatchBuilder removal;
  removal.Begin(260, 4, 40).AddWrite({.timeout = 7}).RemoveRecord().Add("new", 1);
  removal.Begin(260)
      .AddWrite({.expectation = Expectation::kRevision, .revision = 7})
      .WriteTo("other")
      .Add("n", 1);
  BatchBuilder full;
  full.Begin(260, 3, 20).Write().Set("d", "value").Set("e", "value").Add("a", 9'223'372'036'854'775'807);
  const std::string directory = argv[1];
  const bool written = WriteSeed(directory + "/every-operation", record, all.bytes()) &&
                       WriteSeed(directory + "/removal", record, removal.bytes()) &&
                       WriteSeed(directory + "/at-the-limits", record, full.bytes()) &&
                       WriteSeed(directory + "/no-record", {}, all.bytes());
  return written ? 0 : 1;
}
