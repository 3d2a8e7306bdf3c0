#include <fmt/format.h>

#include "context/summary.h"
#include "context/summary_outline.h"
#include "context/texts.h"
#include "context/tokens.h"
#include "schema/base/limits.h"
#include "schema/base/utf8.h"

namespace ebla::context {
namespace {

// Of the tokens that it stands for, in percent: a summary that saves less is not worth a pass.
constexpr uint64_t kMostOfRemovedPercent = 80;
// Times the cap that an answer may have; a longer one is no summary.
constexpr uint64_t kMostOfCap = 4;
// Characters under all headings together: fewer say nothing.
constexpr size_t kFewestCharacters = 20;

std::string missing_headings(const Outline& outline) {
  std::string out;
  for (size_t i = 0; i < Outline::kSections; ++i) {
    if (outline.found[i]) continue;
    out.append(out.empty() ? "" : ", ").append(texts::kSummaryHeadings[i]);
  }
  return out;
}

size_t characters(const Outline& outline) {
  size_t sum = 0;
  for (const auto& lines : outline.lines) {
    for (const std::string& line : lines) sum += utf8::count(line);
  }
  return sum;
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
  const uint64_t tokens = estimate_tokens(text);
  if (tokens > kMostOfCap * cap) {
    return fail(Code::too_large,
                fmt::format("the summary has {} tokens, at most {} are asked for", tokens, cap));
  }
  const Outline outline = parse_outline(text);
  const std::string missing = missing_headings(outline);
  if (!missing.empty()) {
    return fail(Code::invalid_params, "the summary lacks required headings: " + missing);
  }
  if (characters(outline) < kFewestCharacters) {
    return fail(Code::invalid_params, "the summary says nothing under its headings");
  }
  if (tokens * 100 > removed_tokens * kMostOfRemovedPercent) {
    return fail(Code::invalid_params,
                fmt::format("the summary has {} tokens and stands for {}: it saves too little",
                            tokens, removed_tokens));
  }
  return fit_outline(outline, cap);
}

}  // namespace ebla::context
