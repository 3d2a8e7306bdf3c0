// What grep says when there is no hit.
#include <chrono>
#include <string_view>

#include "daemon/find/grep.h"

namespace ebla::daemon {
namespace {

constexpr size_t kShortestWord = 3;

// The longest word of a pattern of several; empty where there is only one.
std::string_view longest_word(std::string_view pattern) {
  const auto in_word = [](char c) {
    return c == '_' || static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') ||
           (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::string_view longest;
  for (size_t at = 0; at < pattern.size();) {
    size_t end = at;
    while (end < pattern.size() && in_word(pattern[end])) ++end;
    if (end - at > longest.size()) longest = pattern.substr(at, end - at);
    at = end + 1;
  }
  return longest.size() < kShortestWord || longest == pattern ? "" : longest;
}

}  // namespace

Result<void> add_hints(const SearchTools& tools, const SearchScope& scope,
                       const GrepRequest& request, GrepReport& report) {
  const bool clean = report.hits == 0 && report.files.empty() && !report.timed_out &&
                     !report.truncated && !request.start;
  if (!clean || request.how.regex) return {};
  report.regex_hint = looks_like_regex(request.pattern);
  if (report.regex_hint) return {};

  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(limits::kNearestBudgetMs);
  const SearchTools brief{tools.store, tools.cancelled, [&tools, end] {
                            return std::chrono::steady_clock::now() >= end || tools.out_of_time();
                          }};
  GrepRequest looser = request;
  looser.mode = GrepMode::content;
  looser.context = 0;
  looser.max_count = limits::kNearestLines;
  looser.how.ignore_case = true;
  for (const std::string_view text :
       {std::string_view(request.pattern), longest_word(request.pattern)}) {
    if (text.empty() || (text == request.pattern && request.how.ignore_case)) continue;
    looser.pattern = text;
    auto found = grep(brief, scope, looser);
    if (!found) return std::unexpected(std::move(found.error()));
    if (found->rows.empty()) continue;
    report.nearest = std::move(found->rows);
    break;
  }
  return {};
}

}  // namespace ebla::daemon
