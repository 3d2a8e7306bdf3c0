#include "daemon/quota_options.h"

#include <charconv>

#include "schema/base/json.h"

namespace ebla::daemon {
namespace {

uint64_t size_option(const Options& options, const char* name) {
  const auto said = options.options.find(name);
  if (said == options.options.end()) return 0;
  const auto value = parse_json(said->second.value);
  return value ? parse_size(value->text).value_or(0) : 0;
}

}  // namespace

Result<uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr uint64_t kMost = uint64_t{1} << 50;
  const size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const int shift = unit == std::string_view::npos ? 0 : 10 * (static_cast<int>(unit) + 1);
  if (shift != 0) text.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = code == std::errc() && end == text.data() + text.size();
  if (whole && value <= kMost >> shift) return value << shift;
  return fail(Code::bad_configuration,
              "a size from 0 to 1024T: a number, and K, M, G, T or nothing");
}

sqlite::Quotas quotas_of(const Options& options) {
  return {.store_bytes = size_option(options, "store-limit"),
          .file_bytes = size_option(options, "file-limit"),
          .session_bytes = size_option(options, "session-limit"),
          .session_files = size_option(options, "session-files")};
}

}  // namespace ebla::daemon
