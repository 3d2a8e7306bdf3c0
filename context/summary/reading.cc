// How an outline is read from a text that a model wrote, or that we did.
#include <algorithm>
#include <optional>

#include "context/summary/outline.h"
#include "context/text/ascii.h"
#include "context/text/frame_tags.h"
#include "context/text/quote.h"

namespace ebla::context {
namespace {

// What may stand behind a heading on its line and be no content: a translation of it.
constexpr size_t kTranslationBytes = 60;
constexpr size_t kInfoBytes = 20;  // of a fence

// How much is taken for a heading, and whether a fence hides them. The first way in which a text
// has all headings is how it was meant.
struct Reading {
  bool marked_only;  // with '#' or "**"
  bool fences;
};
constexpr Reading kReadings[] = {{true, true}, {false, true}, {false, false}};

bool starts_like(std::string_view text, std::string_view name) {
  return text.size() >= name.size() &&
         std::equal(name.begin(), name.end(), text.begin(),
                    [](char a, char b) { return lowered(a) == lowered(b); });
}

std::string_view without(std::string_view text, std::string_view characters) {
  const size_t begin = text.find_first_not_of(characters);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

std::string_view trimmed(std::string_view text) {
  text = without(text, " \t");
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

struct HeadingLine {
  size_t section = 0;
  std::string_view rest;  // content on the same line
};

// "(目标)", "/ Ziel", "— but": the heading said once more.
bool translates(std::string_view rest) {
  return rest.size() <= kTranslationBytes &&
         (rest.starts_with("(") || rest.starts_with("\uff08") || rest.starts_with("/"));
}

std::optional<HeadingLine> heading_of(std::string_view line, bool marked_only) {
  const std::string_view bare = without(line, "#* \t0123456789.)_");
  const bool marked = line.starts_with('#') || line.starts_with("**");
  if (marked_only && !marked) return std::nullopt;
  for (size_t i = 0; i < Outline::kSections; ++i) {
    const std::string_view name = texts::kSummaryHeadings[i];
    if (!starts_like(bare, name)) continue;
    std::string_view after = without(bare.substr(name.size()), "*_");
    const bool wide = after.starts_with("\uff1a");
    const bool colon = wide || after.starts_with(':');
    if (wide) after.remove_prefix(3);
    const std::string_view rest = without(after, ":*_# \t");
    if (rest.empty()) return HeadingLine{i, rest};
    if (marked && colon) return HeadingLine{i, rest};
    if (marked && translates(rest)) return HeadingLine{i, {}};
  }
  return std::nullopt;
}

bool says_nothing(std::string_view line) {
  std::string word;
  for (char c : without(line, "-*( \t")) word += lowered(c);
  word.resize(word.find_last_not_of(" .)*") + 1);
  for (std::string_view nothing :
       {"", "none", "n/a", "nothing", "...", "\u65e0", "\u7121", "\u6ca1\u6709", "\u6682\u65e0",
        "\u306a\u3057", "\uc5c6\uc74c", "keine", "aucun", "aucune", "ninguno", "ninguna",
        "\u043d\u0435\u0442"}) {
    if (word == nothing) return true;
  }
  return false;
}

// The backticks or tildes that a line begins with, "" fewer than three.
std::string_view fence_of(std::string_view line) {
  line = without(line, " \t");
  if (!line.starts_with("```") && !line.starts_with("~~~")) return {};
  return line.substr(0, std::min(line.find_first_not_of(line.front()), line.size()));
}

bool closes(std::string_view line, std::string_view fence) {
  const std::string_view own = fence_of(line);
  return own.starts_with(fence) && trimmed(line).size() == own.size();
}

class Reader {
 public:
  Reader(const std::vector<std::string_view>& lines, Reading reading)
      : lines_(lines), reading_(reading) {}

  Outline read() {
    for (size_t i = 0; i < lines_.size();) {
      const std::string_view line = lines_[i];
      if (const std::optional<HeadingLine> heading = heading_of(line, reading_.marked_only)) {
        section_ = heading->section;
        out_.found[*section_] = true;
        const std::string_view rest = trimmed(heading->rest);
        if (!rest.empty()) item("- " + std::string(rest));
        ++i;
      } else if (section_ && !outer_.empty() && closes(line, outer_) && ends_outer(i)) {
        break;
      } else if (section_ && !fence_of(line).empty()) {
        i = block(i);
      } else {
        if (section_) {
          item(line);
        } else if (outer_.empty()) {
          outer_ = fence_of(line);
        }
        ++i;
      }
    }
    return std::move(out_);
  }

 private:
  // Whether the fence around the whole ends in this line: neither a heading nor a fence follows.
  bool ends_outer(size_t at) const {
    return std::none_of(lines_.begin() + static_cast<std::ptrdiff_t>(at) + 1, lines_.end(),
                        [this](std::string_view line) {
                          return heading_of(line, reading_.marked_only) || !fence_of(line).empty();
                        });
  }

  void item(std::string_view line) {
    if (line.starts_with('#')) line = without(line, "# \t");
    if (line == texts::kMoreItems) {
      out_.more[*section_] = true;
    } else if (!says_nothing(line)) {
      out_.lines[*section_].push_back(without_frames(line));
    }
  }

  // The fence that opens in line `begin`; returns the line behind it. One that never closes ends
  // with its section.
  size_t block(size_t begin) {
    const std::string_view fence = fence_of(lines_[begin]);
    size_t heading = begin + 1;
    while (heading < lines_.size() && !heading_of(lines_[heading], reading_.marked_only)) ++heading;
    size_t end = begin + 1;
    while (end < lines_.size() && !closes(lines_[end], fence)) ++end;
    const bool closed = end < lines_.size() && (reading_.fences || end < heading);
    if (!closed) end = heading;
    std::string text;
    for (size_t i = begin + 1; i < end; ++i) {
      if (lines_[i].empty()) continue;
      text.append(text.empty() ? "" : "\n").append(lines_[i].front() == '#' ? " " : "");
      text += without_frames(lines_[i]);
    }
    if (!text.empty()) out_.lines[*section_].push_back(fenced(info_of(lines_[begin]), text));
    return closed ? end + 1 : end;
  }

  static std::string_view info_of(std::string_view line) {
    const std::string_view info = trimmed(without(line, " \t`~"));
    const bool plain = std::all_of(info.begin(), info.end(), [](char c) {
      return (lowered(c) >= 'a' && lowered(c) <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
    return plain && info.size() <= kInfoBytes ? info : std::string_view();
  }

  static std::string fenced(std::string_view info, std::string_view text) {
    std::string out;
    append_fenced(out, info, text);
    out.pop_back();
    return out;
  }

  const std::vector<std::string_view>& lines_;
  Reading reading_;
  std::optional<size_t> section_;
  std::string_view outer_;  // fence that was open before the first heading
  Outline out_;
};

}  // namespace

Outline parse_outline(std::string_view text) {
  const std::string clean = clean_text(text);
  std::vector<std::string_view> lines;
  for (std::string_view rest = clean; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    lines.push_back(line.substr(0, line.find_last_not_of(" \t") + 1));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  Outline best;
  std::ptrdiff_t most = -1;
  for (const Reading reading : kReadings) {
    Outline outline = Reader(lines, reading).read();
    const std::ptrdiff_t found = std::count(outline.found.begin(), outline.found.end(), true);
    if (found <= most) continue;
    most = found;
    best = std::move(outline);
  }
  return best;
}

}  // namespace ebla::context
