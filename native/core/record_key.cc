#include "core/record_key.h"

#include <cstring>

namespace wafstate {

void AppendRecordKey(Buffer& buffer, const RecordName& name) {
  const std::size_t start = buffer.size();
  const std::size_t id_size = name.application_id.size();
  buffer.resize(start + 2 + id_size + name.key.size());
  std::uint8_t* const key = buffer.data() + start;
  key[0] = name.space;
  key[1] = static_cast<std::uint8_t>(id_size);
  // memcpy must not be given the null pointer of an empty span.
  if (id_size > 0) std::memcpy(key + 2, name.application_id.data(), id_size);
  if (!name.key.empty()) std::memcpy(key + 2 + id_size, name.key.data(), name.key.size());
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
