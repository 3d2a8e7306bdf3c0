#include "daemon/find/search.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "schema/base/limits.h"

namespace ebla::daemon {

void Skipped::add(std::string path, Code code) {
  ++count;
  if (names.size() < limits::kSkippedNames) {
    names.push_back({std::move(path), code_info(code).name});
  }
}

Error cut_off() {
  return {Code::unavailable, "the search was cut off"};
}

std::string escape_key(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c > ' ' && c < 0x7f && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<std::string> unescape_key(std::string_view text) {
  std::string key;
  while (!text.empty()) {
    size_t used = 1;
    char c = text.front();
    if (c == '%') {
      used = 3;
      unsigned value = 0;
      const std::string_view digits = text.substr(1, 2);
      const auto [end, fault] =
          std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (fault != std::errc() || digits.size() < 2 || end != digits.data() + 2)
        return std::nullopt;
      c = static_cast<char>(value);
    }
    key += c;
    text.remove_prefix(used);
  }
  return key;
}

}  // namespace ebla::daemon
