#include "core/environment_layout.h"

#include "core/record_key.h"

namespace wafstate {

namespace {

Corruption CheckName(Bytes key, const RecordName& name) {
  RecordName expected;
  const bool same = ParseRecordKey(key, expected) && expected.space == name.space &&
                    Equal(expected.application_id, name.application_id) && Equal(expected.key, name.key);
  return same ? Corruption::kNone : Corruption::kOtherName;
}

}  // namespace

Corruption OpenStored(Bytes key, Bytes record, RecordView& view) {
  const Corruption corruption = view.Open(record);
  return corruption == Corruption::kNone ? CheckName(key, view.name()) : corruption;
}

Corruption OpenStoredHeader(Bytes key, Bytes record, RecordView& view) {
  const Corruption corruption = view.OpenHeader(record);
  return corruption == Corruption::kNone ? CheckName(key, view.name()) : corruption;
}

}  // namespace wafstate
