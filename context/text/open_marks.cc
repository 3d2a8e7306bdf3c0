#include "context/text/open_marks.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ebla::context {
namespace {

struct Pair {
  std::string_view open;
  std::string_view close;
};
// An escaped quotation mark stands in what `quoted` made, and is closed by another one.
constexpr std::array<Pair, 8> kPairs = {{{"\\\"", "\\\""},
                                         {"\"", "\""},
                                         {"\u201c", "\u201d"},
                                         {"\u2018", "\u2019"},
                                         {"\u00ab", "\u00bb"},
                                         {"\u300c", "\u300d"},
                                         {"\u300e", "\u300f"},
                                         {"\u300a", "\u300b"}}};

struct Open {
  std::string_view close;
  size_t at = 0;   // of the opening mark
  size_t end = 0;  // behind it
};

size_t run_of(std::string_view text, size_t at, char c) {
  return std::min(text.find_first_not_of(c, at), text.size()) - at;
}

// A run of exactly so many backticks.
bool has_run(std::string_view text, size_t from, size_t length) {
  for (size_t at = text.find('`', from); at != std::string_view::npos; at = text.find('`', at)) {
    const size_t run = run_of(text, at, '`');
    if (run == length) return true;
    at += run;
  }
  return false;
}

class Marks {
 public:
  Marks(std::string_view whole, std::string_view start) : whole_(whole), start_(start) {}

  std::vector<Open> read() {
    for (size_t at = 0; at < start_.size();) at = start_[at] == '`' ? backticks(at) : mark(at);
    return std::move(open_);
  }

 private:
  bool in_code() const { return !open_.empty() && open_.back().close.front() == '`'; }

  size_t backticks(size_t at) {
    const size_t length = run_of(start_, at, '`');
    const std::string_view run = start_.substr(at, length);
    if (in_code()) {
      if (open_.back().close == run) open_.pop_back();
    } else if (has_run(whole_, at + length, length)) {
      open_.push_back({run, at, at + length});
    }
    return at + length;
  }

  size_t mark(size_t at) {
    const std::string_view rest = start_.substr(at);
    for (size_t i = 0; i < kPairs.size() && !in_code(); ++i) {
      const Pair& pair = kPairs[i];
      if (rest.starts_with(pair.close) && close(pair.close)) return at + pair.close.size();
      if (!rest.starts_with(pair.open)) continue;
      const size_t end = at + pair.open.size();
      // Looked for once: behind the last one there is no other.
      if (!never_[i] && whole_.find(pair.close, end) == std::string_view::npos) never_[i] = true;
      if (!never_[i]) open_.push_back({pair.close, at, end});
      return end;
    }
    // What a backslash stands before opens nothing.
    return at + (rest.front() == '\\' && rest.size() > 1 ? 2 : 1);
  }

  bool close(std::string_view mark) {
    const auto at = std::find_if(open_.rbegin(), open_.rend(),
                                 [mark](const Open& open) { return open.close == mark; });
    if (at == open_.rend()) return false;
    open_.erase(at.base() - 1, open_.end());
    return true;
  }

  std::string_view whole_;
  std::string_view start_;
  std::vector<Open> open_;
  std::array<bool, kPairs.size()> never_{};
};

// "\", "\x" or "\x1": the beginning of an escape.
std::string_view without_half_escape(std::string_view start) {
  const size_t slash = start.rfind('\\');
  if (slash == std::string_view::npos || start.size() - slash > 3) return start;
  const std::string_view escape = start.substr(slash);
  size_t before = slash;
  while (before > 0 && start[before - 1] == '\\') --before;
  const bool begins = (slash - before) % 2 == 0;
  return begins && (escape == "\\" || escape.starts_with("\\x")) ? start.substr(0, slash) : start;
}

// A run of backticks that the cut divides is no mark of that length.
std::string_view without_half_run(std::string_view whole, std::string_view start) {
  if (!start.ends_with('`') || !whole.substr(start.size()).starts_with('`')) return start;
  return start.substr(0, start.find_last_not_of('`') + 1);
}

}  // namespace

std::string closing_marks(std::string_view whole, std::string_view& start) {
  start = without_half_run(whole, without_half_escape(start));
  std::vector<Open> open = Marks(whole, start).read();
  while (!open.empty() && open.back().end == start.size()) {
    start = start.substr(0, open.back().at);
    open.pop_back();
  }
  std::string out;
  for (auto at = open.rbegin(); at != open.rend(); ++at) out += at->close;
  return out;
}

}  // namespace ebla::context
