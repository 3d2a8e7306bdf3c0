#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "context/summary/outline.h"
#include "context/summary/summary.h"
#include "context/text/ascii.h"
#include "context/text/quote.h"
#include "context/text/tokens.h"
#include "context/texts.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// Of the tokens that it stands for, in percent: a summary that saves less is not worth a pass.
constexpr uint64_t kMostOfRemovedPercent = 80;
// Times the cap that an answer may have; a longer one is no summary.
constexpr uint64_t kMostOfCap = 4;
// Of the cap, in percent: whoever writes so much was told to stop.
constexpr uint64_t kNearCapPercent = 90;
// Bytes under all headings together, and headings that have some: fewer tell nobody how to go on.
constexpr size_t kFewestBytes = 20;
constexpr size_t kFewestSections = 2;

// Between such tags a model thinks before it answers.
constexpr std::string_view kThoughts[] = {"thinking", "think", "analysis", "reasoning",
                                          "scratchpad"};
constexpr std::string_view kAnswer = "summary";  // and between these it answers
constexpr std::string_view kByteOrderMark = "\ufeff";
constexpr std::string_view kRefusals[] = {"i'm sorry",
                                          "i\u2019m sorry",
                                          "i am sorry",
                                          "sorry,",
                                          "i can't",
                                          "i can\u2019t",
                                          "i cannot",
                                          "i am unable",
                                          "i'm unable",
                                          "as an ai",
                                          "\u62b1\u6b49",
                                          "\u5f88\u62b1\u6b49",
                                          "\u5bf9\u4e0d\u8d77",
                                          "\u65e0\u6cd5\u63d0\u4f9b",
                                          "\u7533\u3057\u8a33"};
// How a model takes its leave behind the last item.
constexpr std::string_view kFarewells[] = {
    "let me know",       "feel free",          "i hope",
    "hope this",         "would you like",     "if you need",
    "is there anything", "\u5982\u679c\u4f60", "\u5982\u679c\u60a8",
    "\u5982\u6709",      "\u5e0c\u671b"};

template <class Words>
bool begins_with_any(std::string_view text, const Words& words) {
  const std::string low =
      lowered(text.substr(std::min(text.find_first_not_of("-*\"' "), text.size())));
  return std::any_of(std::begin(words), std::end(words),
                     [&low](std::string_view word) { return low.starts_with(word); });
}

bool any_heading(std::string_view text) {
  const Outline outline = parse_outline(text);
  return std::find(outline.found.begin(), outline.found.end(), true) != outline.found.end();
}

// Place of "<tag>" where it begins the answer: no heading stands before it.
size_t opening_tag(std::string_view text, std::string_view tag) {
  const size_t at = text.find(fmt::format("<{}>", tag));
  return at == std::string_view::npos || any_heading(text.substr(0, at)) ? std::string_view::npos
                                                                         : at;
}

// The answer without what was thought before it; what was never thought to its end has no answer.
std::string answer_of(std::string_view text) {
  std::string out(text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0));
  for (std::string_view tag : kThoughts) {
    const std::string close = fmt::format("</{}>", tag);
    for (size_t at = opening_tag(out, tag); at != std::string::npos; at = opening_tag(out, tag)) {
      const size_t end = out.find(close, at);
      out.erase(at, end == std::string::npos ? end : end + close.size() - at);
    }
    // Some hosts begin to send within the thoughts.
    const size_t end = out.find(close);
    if (end != std::string::npos && out.find(fmt::format("<{}>", tag)) == std::string::npos &&
        any_heading(std::string_view(out).substr(end))) {
      out.erase(0, end + close.size());
    }
  }
  const size_t begin = opening_tag(out, kAnswer);
  if (begin == std::string::npos) return out;
  const size_t end = out.rfind(fmt::format("</{}>", kAnswer));
  return out.substr(0, end).substr(begin + kAnswer.size() + 2);
}

// Whether nothing follows its last heading, not even that there is nothing.
bool breaks_off(std::string_view text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return true;
  text = text.substr(0, end + 1);
  const std::string_view line = text.substr(text.rfind('\n') + 1);
  const size_t begin = line.find_first_not_of("#* \t0123456789.)_");
  if (begin == std::string_view::npos) return false;
  const std::string name =
      lowered(line.substr(begin, line.find_last_not_of(":*_# \t") + 1 - begin));
  return std::any_of(texts::kSummaryHeadings.begin(), texts::kSummaryHeadings.end(),
                     [&name](std::string_view heading) { return lowered(heading) == name; });
}

// An answer that is as long as it may be and does not end like a sentence was cut: that is said.
void mark_cut(Outline& outline, uint64_t tokens, uint64_t cap) {
  std::vector<std::string>& last = outline[Outline::next_steps];
  if (last.empty() || tokens * 100 < cap * kNearCapPercent) return;
  for (const std::string_view end :
       {".", "!", "?", ")", "`", "\"", "\u3002", "\uff01", "\uff1f", texts::kCut}) {
    if (last.back().ends_with(end)) return;
  }
  last.back() += texts::kCut;
}

// A line of the question is no answer, and neither is a farewell.
void drop_chatter(Outline& outline) {
  for (auto& lines : outline.lines) {
    std::erase_if(lines, [](const std::string& line) {
      return std::string_view(texts::kSummaryAsk).find("\n" + line + "\n") != std::string::npos;
    });
  }
  std::vector<std::string>& last = outline[Outline::next_steps];
  if (last.empty() || last.back().starts_with('-') || last.back().starts_with('*')) return;
  if (begins_with_any(last.back(), kFarewells)) last.pop_back();
}

std::string missing_headings(const Outline& outline) {
  std::string out;
  for (size_t i = 0; i < Outline::kSections; ++i) {
    if (outline.found[i]) continue;
    out.append(out.empty() ? "" : ", ").append(texts::kSummaryHeadings[i]);
  }
  return out;
}

// What is said twice under one heading counts once.
void drop_repeated(Outline& outline) {
  for (auto& lines : outline.lines) {
    std::set<std::string> said;
    std::erase_if(lines, [&said](const std::string& line) { return !said.insert(line).second; });
  }
}

Result<void> check_content(const Outline& outline) {
  size_t bytes = 0;
  size_t sections = 0;
  for (const auto& lines : outline.lines) {
    for (const std::string& line : lines) bytes += line.size();
    if (!lines.empty()) ++sections;
  }
  if (sections < kFewestSections) {
    return fail(Code::invalid_params,
                fmt::format("the summary has text under {} of its headings, at least {} are needed",
                            sections, kFewestSections));
  }
  if (bytes < kFewestBytes) {
    return fail(Code::invalid_params,
                fmt::format("the summary has {} bytes of text under its headings, at least {} are "
                            "needed",
                            bytes, kFewestBytes));
  }
  const std::vector<std::string>& goal = outline[Outline::goal];
  if (!goal.empty() && begins_with_any(goal.front(), kRefusals)) {
    return fail(Code::invalid_params, "the summary is a refusal: " + one_line(goal.front(), 80));
  }
  return {};
}

}  // namespace

Result<std::string> accept_summary(std::string_view text, uint64_t removed_tokens,
                                   uint64_t max_tokens) {
  const uint64_t cap = max_tokens == 0 ? limits::kSummaryTokens : max_tokens;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail(Code::invalid_params, "the summary is empty");
  }
  if (!utf8::is_valid(text)) {
    return fail(Code::invalid_params, "the summary is not valid UTF-8");
  }
  const std::string answer = answer_of(text);
  const uint64_t tokens = estimate_tokens(answer);
  if (tokens > kMostOfCap * cap) {
    return fail(Code::too_large,
                fmt::format("the summary has {} tokens, at most {} are asked for", tokens, cap));
  }
  Outline outline = parse_outline(answer);
  drop_chatter(outline);
  drop_repeated(outline);
  const std::string missing = missing_headings(outline);
  if (!missing.empty()) {
    return fail(Code::invalid_params, "the summary lacks required headings: " + missing);
  }
  if (breaks_off(answer)) {
    return fail(Code::invalid_params, "the summary breaks off behind its last heading");
  }
  if (auto content = check_content(outline); !content) return std::unexpected(content.error());
  if (tokens * 100 > removed_tokens * kMostOfRemovedPercent) {
    return fail(Code::invalid_params,
                fmt::format("the summary has {} tokens and stands for {}: it saves too little",
                            tokens, removed_tokens));
  }
  mark_cut(outline, tokens, cap);
  return fit_outline(outline, cap);
}

}  // namespace ebla::context
