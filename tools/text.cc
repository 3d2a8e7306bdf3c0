#include "tools/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "schema/base/json.h"
#include "schema/base/utf8.h"

namespace ebla::tools {

std::string terminal_text(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find_first_of("\n\t"), bytes.size());
    if (end > 0) {
      out += printable(bytes.substr(0, end));
    }
    if (end < bytes.size()) {
      out += bytes[end];
    }
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return out;
}

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(word);
  }
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"MiB", "GiB", "TiB", "PiB"};
  constexpr double kStep = 1024.0;
  if (bytes < (uint64_t{1} << 20)) {
    return fmt::format("{}", bytes);
  }
  double value = static_cast<double>(bytes) / kStep / kStep;
  size_t unit = 0;
  while (value >= kStep && unit + 1 < kUnits.size()) {
    value /= kStep;
    ++unit;
  }
  return fmt::format("{:.1f} {} ({})", value, kUnits[unit], bytes);
}

std::string format_time(std::string_view utc) {
  std::tm parts{};
  const std::string text(utc);
  const char* rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || !text.ends_with('Z')) {
    return terminal_text(utc);
  }
  const time_t seconds = timegm(&parts);
  std::tm local{};
  if (localtime_r(&seconds, &local) == nullptr) {
    return terminal_text(utc);
  }
  std::array<char, 32> shown{};
  const size_t length = strftime(shown.data(), shown.size(), "%Y-%m-%d %H:%M:%S", &local);
  return {shown.data(), length};
}

std::string format_duration(uint64_t seconds) {
  constexpr uint64_t kMinute = 60;
  constexpr uint64_t kHour = 60 * kMinute;
  constexpr uint64_t kDay = 24 * kHour;
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", seconds % kDay / kHour,
                                        seconds % kHour / kMinute, seconds % kMinute);
  return seconds < kDay ? clock : fmt::format("{} d {}", seconds / kDay, clock);
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const auto& cells : rows_) {
    for (size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], utf8::count(cells[i]));
    }
  }
  std::string out;
  for (const auto& cells : rows_) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - utf8::count(cells[i]), ' ');
      line += i == 0 ? "" : "  ";
      line += columns_[i] == Align::right ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace ebla::tools
