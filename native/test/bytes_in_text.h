// Bytes written down for people: hexadecimal digits in groups, and text in quotes.
#pragma once

#include <string>
#include <string_view>

#include "core/bytes.h"

namespace wafstate::test {

// "57 52 'ip' 00": pairs of digits and quoted text; white space is free.
inline Buffer FromHex(std::string_view text) {
  Buffer bytes;
  const auto digit = [](char c) { return static_cast<std::uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ' || text[i] == '\n') continue;
    if (text[i] == '\'') {
      for (++i; text[i] != '\''; ++i)
        bytes.push_back(static_cast<std::uint8_t>(text[i]));
      continue;
    }
    bytes.push_back(static_cast<std::uint8_t>(digit(text[i]) << 4 | digit(text[i + 1])));
    ++i;
  }
  return bytes;
}

inline std::string ToText(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace wafstate::test
