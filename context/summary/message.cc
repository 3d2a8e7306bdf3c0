#include <fmt/format.h>

#include <algorithm>

#include "context/item/notice.h"
#include "context/summary/outline.h"
#include "context/summary/requests.h"
#include "context/summary/summary.h"
#include "context/summary/where.h"
#include "context/text/quote.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// Of the room for the user's words, in percent: no text but the only one takes more.
constexpr uint64_t kOneTextPercent = 50;
// What fences and a note cost; and with less room a cut text is not begun.
constexpr uint64_t kFrameTokens = 24;
constexpr uint64_t kShortestCut = 64;
// Of a text that is cut, in percent: its start; and what the mark between start and end costs.
constexpr uint64_t kStartPercent = 60;
constexpr uint64_t kGapTokens = 4;

uint64_t words_room(uint64_t window) {
  const uint64_t whole = window == 0 ? limits::kTriggerTokens : window;
  return static_cast<uint64_t>(limits::kUserWordsShare * static_cast<double>(whole));
}

// Of the middle: a question mostly stands at the end of what it is about.
UserWords cut_words(const UserWords& words, uint64_t tokens) {
  if (estimate_tokens(words.text) <= tokens) return words;
  const std::string_view text = words.text;
  const std::string_view start = first_tokens(text, tokens * kStartPercent / 100);
  const uint64_t left = tokens - std::min(tokens, estimate_tokens(start) + kGapTokens);
  const std::string_view end = last_tokens(text.substr(start.size()), left);
  std::string shown = fmt::format("{}\n{}\n{}", start, texts::kCut, end);
  if (!words.note.empty()) return {std::move(shown), words.note};
  return {std::move(shown),
          fmt::format(texts::kUserWordsCut, texts::grouped(utf8::count(start) + utf8::count(end)),
                      texts::grouped(utf8::count(text)))};
}

void add_block(std::string& out, const UserWords& words) {
  out += "\n";
  append_fenced(out, "", words.text);
  if (!words.note.empty()) out.append(words.note).append("\n");
}

std::string user_words(const std::vector<UserWords>& all, uint64_t room) {
  std::string out;
  uint64_t left = room;
  size_t taken = 0;
  for (const UserWords& words : all) {
    if (left < kShortestCut + kFrameTokens) break;
    uint64_t most = left - kFrameTokens;
    if (all.size() > 1) most = std::min(most, room * kOneTextPercent / 100);
    const UserWords shown = cut_words(words, most);
    add_block(out, shown);
    const uint64_t cost = estimate_tokens(shown.text) + kFrameTokens;
    left -= std::min(left, cost);
    ++taken;
  }
  if (taken < all.size()) out.append("\n").append(texts::kUserWordsLeft).append("\n");
  return out;
}

void add_doors(std::string& out, const SummaryMessageInput& in) {
  const Doors& doors = in.doors;
  if (doors.none()) {
    out += texts::kClosed;
    return;
  }
  const std::string path = shell_word(in.input.history_path);
  const uint64_t first = newest_line(in);
  // The file holds messages byte for byte: grep shows none of a file with a NUL but with -a.
  if (doors.shell) {
    out.append(texts::kGrepBinary).append(path).append("\n");
    out += fmt::format(texts::kSed, first, first + limits::kReadLines - 1);
    out.append(path).append("\n");
  } else if (doors.cli) {
    out.append(texts::kCliRead).append(path);
    out.append(fmt::format(texts::kCliOffset, first - 1)).append("\n");
  }
  if (!doors.read_tool.empty()) {
    out += fmt::format(texts::kReadTool, texts::tool_name(doors.read_tool), first - 1,
                       limits::kReadLines);
    out += "\n";
  }
  if (!doors.grep_tool.empty()) {
    out.append(fmt::format(texts::kGrepTool, texts::tool_name(doors.grep_tool))).append("\n");
  }
}

std::string within_cap(const std::string& summary, uint64_t max_tokens) {
  return fit_outline(parse_outline(summary), max_tokens == 0 ? limits::kSummaryTokens : max_tokens);
}

}  // namespace

std::string summary_message(const SummaryMessageInput& input) {
  std::string out = std::string(texts::kSummaryTitle) + "\n\n" + texts::kSummaryLead + "\n\n";
  out += within_cap(input.summary, input.input.max_tokens);
  const Requests spoken = requests_of(input.input);
  if (!spoken.words.empty()) {
    out.append("\n").append(texts::kUserWordsTitle).append("\n\n");
    out.append(texts::kUserWordsLead).append("\n");
    out += user_words(spoken.words, words_room(input.window));
  }
  if (!spoken.current.empty()) {
    out.append("\n").append(texts::kCurrentTitle).append("\n");
    add_block(out, {spoken.current, ""});
  }
  const std::string where = where_to_look(input);
  if (!where.empty()) {
    out.append("\n").append(texts::kWhereTitle).append("\n\n");
    out.append(texts::kWhereLead).append("\n").append(where);
  }
  out.append("\n").append(texts::kFileTitle).append("\n\n").append(texts::kFilePath);
  out.append(printable(input.input.history_path)).append("\n");
  add_doors(out, input);
  // A client that trims what it keeps sends back the same message.
  while (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace ebla::context
