#include "context/summary/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "context/text/error_lines.h"
#include "context/text/json_digest.h"
#include "context/text/quote.h"
#include "schema/base/json.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

constexpr size_t kTellingChars = 160;
constexpr size_t kScanBytes = 65'536;  // from each end
constexpr std::string_view kStatusWords[] = {"exit code",   "exit_code",  "exit status",
                                             "exited with", "exitCode",   "Exit code",
                                             "returncode",  "Exit status"};
constexpr std::string_view kOurOwn = "[Ebla] ";  // of a notice or a stub
constexpr size_t kStatusStart = 512;
constexpr size_t kStatusEnd = 2'048;
constexpr size_t kStatusGap = 12;  // between such a word and its number

// The number after a word like "exit code", -1 when none follows.
int status_after(std::string_view text) {
  for (size_t i = 0; i < std::min(text.size(), kStatusGap); ++i) {
    if (text[i] == '\n') return -1;
    if (text[i] < '0' || text[i] > '9') continue;
    return text[i] == '0' && (i + 1 == text.size() || text[i + 1] < '0' || text[i + 1] > '9') ? 0
                                                                                              : 1;
  }
  return -1;
}

// The last status that the text tells of.
int exit_status(std::string_view text) {
  size_t place = 0;
  int status = -1;
  for (std::string_view word : kStatusWords) {
    const size_t at = text.rfind(word);
    if (at == std::string_view::npos || at < place) continue;
    const int found = status_after(text.substr(at + word.size()));
    if (found < 0) continue;
    place = at;
    status = found;
  }
  return status;
}

// Hosts put it first or last.
int status_at_an_end(std::string_view text) {
  const size_t end = text.size() > kStatusEnd ? text.size() - kStatusEnd : 0;
  const int status = exit_status(text.substr(end));
  return status < 0 ? exit_status(text.substr(0, kStatusStart)) : status;
}

// "(12 rows)": how much there was, not what.
bool counts_rows(std::string_view line) {
  return line.starts_with('(') && (line.ends_with(" rows)") || line.ends_with(" row)"));
}

// Without the line number that a preview puts before what it shows.
std::string_view without_gutter(std::string_view line) {
  const size_t digits = line.find_first_not_of(' ');
  if (digits == std::string_view::npos) return line;
  const size_t end = line.find_first_not_of("0123456789", digits);
  if (end == std::string_view::npos || end == digits || !line.substr(end).starts_with("| ")) {
    return line;
  }
  return line.substr(end + 2);
}

bool says_something(std::string_view line) {
  return std::any_of(line.begin(), line.end(), [](char c) {
    const auto byte = static_cast<uint8_t>(c);
    return byte >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
  });
}

// A line that tells the status alone says no more than that.
bool tells_status(std::string_view line) {
  for (std::string_view word : kStatusWords) {
    const size_t at = line.find(word);
    if (at != std::string_view::npos && at < kStatusGap && line.size() < 3 * kStatusGap)
      return true;
  }
  return false;
}

// Some hosts hand a command's output on as JSON: {"output": "…", "metadata": {"exit_code": 0}}.
std::string unwrapped(std::string_view text) {
  if (!text.starts_with('{') || text.size() > 4 * kScanBytes) return std::string(text);
  const Result<Json> json = parse_json(text);
  if (!json) return std::string(text);
  for (std::string_view name : {"output", "stdout"}) {
    const Json* output = json->find(name);
    if (output == nullptr || !output->is(Json::Kind::string)) continue;
    // What stands beside the output goes behind it: the status is among that.
    return output->text + "\n" + std::string(text.substr(text.rfind('{')));
  }
  return std::string(text);
}

std::string both_ends(std::string_view text) {
  if (text.size() <= 2 * kScanBytes) return std::string(text);
  const std::string head(text.substr(0, utf8::floor_boundary(text, kScanBytes)));
  std::string_view tail = text.substr(text.size() - kScanBytes);
  tail.remove_prefix(std::min(tail.find('\n'), tail.size()));
  return head + std::string(tail);
}

}  // namespace

Outcome outcome_of(std::string_view text) {
  const std::string inner = unwrapped(text);
  if (inner == text) {
    if (const std::optional<JsonDigest> json = json_digest(text)) {
      const bool status = status_at_an_end(text) > 0;
      return {one_line(json->text, kTellingChars), json->failed || status, false};
    }
  }
  const std::string clean = clean_text(both_ends(inner));
  Outcome out;
  std::string_view last;
  std::string_view error;
  std::string_view behind;  // the line after the error
  for (std::string_view rest = clean; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = without_gutter(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!says_something(line) || line.starts_with(kOurOwn) || tells_status(line)) continue;
    if (counts_rows(line) && !last.empty()) continue;
    last = line;
    if (!error.empty() && behind.empty()) behind = line;
    if (error.empty() && error_tier(line) == ErrorTier::error) error = line;
  }
  const int status = status_at_an_end(clean);
  out.failed = status > 0;
  out.error = status < 0 && !error.empty();
  const bool tell_error = (out.failed || out.error) && !error.empty();
  if (!tell_error) {
    out.telling = one_line(last, kTellingChars);
  } else if (error.starts_with("Traceback")) {
    out.telling = one_line(last, kTellingChars);  // what was thrown stands last
  } else {
    const bool announces = error.ends_with(':');
    out.telling = one_line(announces ? fmt::format("{} {}", error, behind) : std::string(error),
                           kTellingChars);
  }
  return out;
}

}  // namespace ebla::context
