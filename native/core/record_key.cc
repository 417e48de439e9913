#include "core/record_key.h"

namespace wafstate {

void AppendRecordKey(Buffer& buffer, const RecordName& name) {
  Append(buffer, name.space);
  Append(buffer, static_cast<std::uint8_t>(name.application_id.size()));
  Append(buffer, name.application_id);
  Append(buffer, name.key);
}

bool ParseRecordKey(Bytes bytes, RecordName& name) {
  ByteReader reader(bytes);
  std::uint8_t application_id_size = 0;
  if (!reader.Read(name.space) || !IsSpace(name.space)) return false;
  if (!reader.Read(application_id_size) || !reader.Read(application_id_size, name.application_id))
    return false;
  const std::size_t key_size = reader.remaining();
  return key_size >= 1 && key_size <= kMaxKeyBytes && reader.Read(key_size, name.key);
}

}  // namespace wafstate
