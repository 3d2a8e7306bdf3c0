#include "context/summary_outline.h"

#include <algorithm>
#include <optional>

#include "context/ascii.h"
#include "context/quote.h"
#include "context/tokens.h"

namespace ebla::context {
namespace {

// Of the room, in percent, in the order of the headings.
constexpr std::array<uint64_t, Outline::kSections> kShares = {18, 15, 18, 12, 10, 17, 10};
// Who is first to take what others leave.
constexpr std::array<Outline::Section, Outline::kSections> kTurns = {
    Outline::goal,  Outline::next_steps, Outline::open,     Outline::constraints,
    Outline::files, Outline::done,       Outline::decisions};
// A line that has to be cut is left out when fewer tokens of it would stay.
constexpr uint64_t kShortestCut = 8;

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

std::optional<HeadingLine> heading_of(std::string_view line) {
  const std::string_view bare = without(line, "#* \t0123456789.)_");
  const bool marked = !line.empty() && (line.front() == '#' || line.starts_with("**"));
  for (size_t i = 0; i < Outline::kSections; ++i) {
    const std::string_view name = texts::kSummaryHeadings[i];
    if (!starts_like(bare, name)) continue;
    const std::string_view after = bare.substr(name.size());
    const std::string_view rest = without(after, ":*_# \t");
    if (rest.empty()) return HeadingLine{i, rest};
    const bool colon = without(after, "*_").starts_with(':');
    if (marked && colon) return HeadingLine{i, rest};
  }
  return std::nullopt;
}

bool says_nothing(std::string_view line) {
  std::string word;
  for (char c : without(line, "-*( \t")) word += lowered(c);
  word.resize(word.find_last_not_of(" .)*") + 1);
  return word.empty() || word == "none" || word == "n/a" || word == "nothing" || word == "...";
}

void add_line(Outline& outline, size_t section, std::string_view line) {
  if (line.starts_with('#')) line = without(line, "# \t");
  if (!says_nothing(line)) outline.lines[section].emplace_back(line);
}

uint64_t cost_of(std::string_view line) {
  return estimate_tokens(line) + 1;
}

// Lines that are kept, as counts from the front and a cut last one.
class Fitting {
 public:
  Fitting(const Outline& outline, uint64_t room) : outline_(outline) {
    out_.found = outline.found;
    for (size_t i = 0; i < Outline::kSections; ++i) {
      left_ += take(i, room * kShares[i] / 100, true);
    }
    for (Outline::Section section : kTurns) left_ = take(section, left_, false);
  }
  Outline take_result() { return std::move(out_); }

 private:
  // Takes further lines of a section while they fit; returns what is left. With `own` room the next
  // line is cut to it, so that no section is lost to one long line.
  uint64_t take(size_t section, uint64_t room, bool own) {
    const std::vector<std::string>& from = outline_.lines[section];
    std::vector<std::string>& to = out_.lines[section];
    if (cut_[section]) return room;
    while (to.size() < from.size()) {
      const std::string& line = from[to.size()];
      const uint64_t cost = cost_of(line);
      if (cost > room) break;
      to.push_back(line);
      room -= cost;
    }
    if (!own || to.size() == from.size() || !to.empty() || room < kShortestCut) return room;
    const std::string_view start = first_tokens(from[to.size()], room - 2);
    to.push_back(std::string(start) + texts::kCut);
    cut_[section] = true;
    return 0;
  }

  const Outline& outline_;
  Outline out_;
  uint64_t left_ = 0;
  std::array<bool, Outline::kSections> cut_{};  // its last line is cut: nothing may follow
};

}  // namespace

Outline parse_outline(std::string_view text) {
  Outline outline;
  std::optional<size_t> section;
  const std::string clean = clean_text(text);
  for (std::string_view rest = clean; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, rest.substr(0, end).find_last_not_of(" \t") + 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (const std::optional<HeadingLine> heading = heading_of(line)) {
      section = heading->section;
      outline.found[*section] = true;
      if (!trimmed(heading->rest).empty()) {
        add_line(outline, *section, "- " + std::string(trimmed(heading->rest)));
      }
    } else if (section) {
      add_line(outline, *section, line);
    }
  }
  return outline;
}

std::string render_outline(const Outline& outline) {
  std::string out;
  for (size_t i = 0; i < Outline::kSections; ++i) {
    out.append(out.empty() ? "## " : "\n## ").append(texts::kSummaryHeadings[i]).append("\n");
    for (const std::string& line : outline.lines[i]) out.append(line).append("\n");
    if (outline.lines[i].empty()) out.append(texts::kNothing).append("\n");
  }
  return out;
}

std::string fit_outline(const Outline& outline, uint64_t max_tokens) {
  std::string out = render_outline(outline);
  const uint64_t frame = estimate_tokens(render_outline(Outline()));
  uint64_t room = max_tokens > frame ? max_tokens - frame : 0;
  while (estimate_tokens(out) > max_tokens && room > 0) {
    out = render_outline(Fitting(outline, room).take_result());
    room = room * 15 / 16;
  }
  return room == 0 ? render_outline(Outline()) : out;
}

}  // namespace ebla::context
