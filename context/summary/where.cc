#include "context/summary/where.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "context/list/part_text.h"
#include "context/summary/terms.h"
#include "context/text/frame_tags.h"
#include "context/text/quote.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/limits.h"
#include "schema/base/number.h"

namespace ebla::context {
namespace {

constexpr size_t kTurnChars = 90;
constexpr size_t kEarlierChars = 60;
constexpr size_t kEarlierTerms = 3;
constexpr size_t kToolsOfATurn = 3;
constexpr size_t kMostTerms = 60;
// Of the room, in percent; passes before get what is left.
constexpr uint64_t kTurnsPercent = 50;
constexpr uint64_t kTermsPercent = 25;
// One line that stands for those that do not fit.
constexpr uint64_t kMergedTokens = 24;
constexpr std::string_view kEarlierStart = "- Earlier, ";
constexpr std::string_view kTermsStart = "- Named there: ";
constexpr std::string_view kManyEnd = " summaries";

struct Range {
  uint64_t first = 0;
  uint64_t last = 0;
  std::string text;
};

// "12-34: text" behind `start`.
std::optional<Range> range_of(std::string_view line, std::string_view start) {
  if (!line.starts_with(start)) return std::nullopt;
  line.remove_prefix(start.size());
  Range range;
  const std::optional<uint64_t> first = take_number(line);
  if (!first || !line.starts_with('-')) return std::nullopt;
  line.remove_prefix(1);
  const std::optional<uint64_t> last = take_number(line);
  if (!last || !line.starts_with(": ")) return std::nullopt;
  return Range{*first, *last, std::string(line.substr(2))};
}

std::string tools_of(const std::map<std::string, size_t>& counts) {
  std::vector<std::pair<std::string, size_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (sorted.size() > kToolsOfATurn) sorted.resize(kToolsOfATurn);
  std::string out;
  for (const auto& [tool, count] : sorted) {
    out.append(out.empty() ? "" : ", ").append(texts::tool_name(tool));
    if (count > 1) out += " " + std::to_string(count);
  }
  return out;
}

std::string first_words(std::string_view body, const WorkingMessage& message) {
  if (user_speaks(body, message)) return one_line(user_text(body, message), kTurnChars);
  for (size_t i = 0; i < message.message->parts.size(); ++i) {
    const PartKind kind = message.message->parts[i].kind;
    if (kind != PartKind::text && kind != PartKind::tool_result) continue;
    std::string text = one_line(standing_text(body, message, i), kTurnChars);
    if (!text.empty()) return text;
  }
  return "";
}

class Where {
 public:
  explicit Where(const SummaryMessageInput& input) : input_(input) {
    uint64_t room = limits::kWhereToLookTokens;
    if (input.window > 0) {
      room = std::min(
          room, static_cast<uint64_t>(limits::kSummaryShare * static_cast<double>(input.window)));
    }
    room_ = room;
    removed_ = std::min(input.input.removed, input.input.list->messages.size());
  }

  std::vector<Range> turns() const {  // newest first
    std::vector<Range> out;
    uint64_t first = 0;  // of turns that say nothing and that the next one takes in
    for (size_t begin = 0; begin < removed_;) {
      size_t end = begin + 1;
      while (end < removed_ && !user_speaks(input_.input.body, message(end))) ++end;
      Range range = turn(begin, end);
      begin = end;
      if (first == 0) first = range.first;
      if (range.text.empty() && out.empty()) continue;
      if (range.text.empty()) {
        out.back().last = range.last;
      } else {
        range.first = std::exchange(first, 0);
        out.push_back(std::move(range));
      }
      first = 0;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  std::string write() {
    std::vector<Range> turns_now;
    if (input_.message_lines.size() >= removed_) turns_now = turns();
    add_ranges(turns_now, texts::kTurn, room_ * kTurnsPercent / 100, "");
    add_terms(room_ * (kTurnsPercent + kTermsPercent) / 100);
    add_ranges(earlier(), texts::kEarlier, room_, kManyEnd);
    return std::move(out_);
  }

 private:
  const WorkingMessage& message(size_t i) const { return input_.input.list->messages[i]; }

  // Its text is empty when nothing in it can be named.
  Range turn(size_t begin, size_t end) const {
    const std::vector<uint64_t>& lines = input_.message_lines;
    Range range;
    range.first = lines[begin];
    range.last = end < lines.size() ? lines[end] - 1 : lines[end - 1];
    std::map<std::string, size_t> tools;
    std::string words;
    std::string media;
    for (size_t i = begin; i < end; ++i) {
      if (words.empty()) words = first_words(input_.input.body, message(i));
      for (const Part& part : message(i).message->parts) {
        if (part.kind == PartKind::tool_call) ++tools[part.tool];
        if (media.empty()) media = texts::tool_name(part.media_type);
      }
    }
    range.text = words.empty() ? media : without_frames(quoted(words));
    const std::string names = tools_of(tools);
    if (range.text.empty()) {
      range.text = names;
    } else if (!names.empty()) {
      range.text += fmt::format(texts::kTurnTools, names);
    }
    return range;
  }

  void line(const std::string& text) { out_ += text + "\n"; }
  bool fits(const std::string& text, uint64_t until) const {
    return estimate_tokens(out_) + estimate_tokens(text) + 1 <= until;
  }

  // `many_end`: what the merged line of ranges before ends with, so that its number goes on.
  void add_ranges(const std::vector<Range>& ranges, const char* pattern, uint64_t until,
                  std::string_view many_end) {
    size_t taken = 0;
    while (taken < ranges.size()) {
      const Range& r = ranges[taken];
      const std::string text = fmt::format(fmt::runtime(pattern), r.first, r.last, r.text);
      const bool last = taken + 1 == ranges.size();
      if (!fits(text, last ? until : until - std::min(until, kMergedTokens))) break;
      line(text);
      ++taken;
    }
    if (taken == ranges.size()) return;
    uint64_t count = 0;
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (size_t i = taken; i < ranges.size(); ++i) {
      count += count_of(ranges[i].text, many_end);
      first = std::min(first, ranges[i].first);
      last = std::max(last, ranges[i].last);
    }
    const std::string what = many_end.empty() ? fmt::format(texts::kMoreTurns, count,
                                                            texts::plural(count, "turn", "turns"))
                                              : fmt::format(texts::kEarlierMany, count);
    line(fmt::format(fmt::runtime(pattern), first, last, what));
  }

  static uint64_t count_of(std::string_view text, std::string_view many_end) {
    if (many_end.empty() || !text.ends_with(many_end)) return 1;
    const std::optional<uint64_t> number = take_number(text);
    return number && text == many_end ? *number : 1;
  }

  void add_terms(uint64_t until) {
    const Terms terms = terms_of(input_.input);
    std::string joined;
    for (const std::string& term : terms.best(kMostTerms)) {
      const bool spaced = term.find(' ') != std::string::npos;
      std::string more = joined + (joined.empty() ? "" : ", ") + (spaced ? quoted(term) : term);
      if (!fits(fmt::format(texts::kTerms, more), until)) continue;
      joined = std::move(more);
    }
    if (!joined.empty()) line(fmt::format(texts::kTerms, joined));
  }

  // One line for the pass before, then its own earlier ones, newest first.
  std::vector<Range> earlier() const {
    std::vector<Range> out;
    std::vector<Range> turns_before;
    std::string terms;
    for (std::string_view rest = input_.older; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (const auto range = range_of(text, kEarlierStart)) {
        out.push_back(*range);
      } else if (text.starts_with(kTermsStart)) {
        terms = first_terms(text.substr(kTermsStart.size()));
      } else if (const auto turn = range_of(text, "- ")) {
        turns_before.push_back(*turn);
      }
    }
    if (turns_before.empty()) return out;
    Range pass{UINT64_MAX, 0, one_line(oldest_words(turns_before), kEarlierChars)};
    if (!terms.empty()) pass.text += fmt::format(texts::kTurnTools, terms);
    for (const Range& turn : turns_before) {
      pass.first = std::min(pass.first, turn.first);
      pass.last = std::max(pass.last, turn.last);
    }
    out.insert(out.begin(), std::move(pass));
    return out;
  }

  // Newest first; the line that several turns share says nothing of them.
  static std::string oldest_words(const std::vector<Range>& turns) {
    for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) {
      if (turn->text.starts_with('"')) return turn->text;
    }
    return turns.front().text;
  }

  static std::string first_terms(std::string_view terms) {
    size_t at = 0;
    for (size_t n = 0; n < kEarlierTerms && at != std::string_view::npos; ++n) {
      at = terms.find(", ", at == 0 ? 0 : at + 2);
    }
    return std::string(terms.substr(0, at));
  }

  const SummaryMessageInput& input_;
  uint64_t room_ = 0;
  size_t removed_ = 0;
  std::string out_;
};

}  // namespace

std::string where_to_look(const SummaryMessageInput& input) {
  return Where(input).write();
}

uint64_t newest_line(const SummaryMessageInput& input) {
  const auto& messages = input.input.list->messages;
  size_t at = std::min(input.input.removed, messages.size());
  if (at == 0 || input.message_lines.size() < at) return 1;
  while (--at > 0 && !user_speaks(input.input.body, messages[at])) {
  }
  return input.message_lines[at];
}

}  // namespace ebla::context
