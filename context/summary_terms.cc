#include "context/summary_terms.h"

#include <algorithm>
#include <utility>

#include "context/part_text.h"
#include "context/quote.h"

namespace ebla::context {
namespace {

constexpr size_t kScanBytes = 32'768;  // of one text, from each end
constexpr size_t kTermBytes = 120;     // a longer word is data
constexpr size_t kShortestTerm = 4;
constexpr size_t kTerms = 50'000;
constexpr uint32_t kUserWeight = 12;
constexpr uint32_t kModelWeight = 4;
constexpr uint32_t kToolWeight = 1;
constexpr uint64_t kScoreOfOneTerm = 400;  // more mentions say no more

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

bool in_word(char c) {
  return is_digit(c) || is_upper(c) || is_lower(c) ||
         std::string_view("_-./:#@%+~?=&").find(c) != std::string_view::npos;
}

struct Shape {
  size_t digits = 0;
  size_t letters = 0;
  size_t hex = 0;
  size_t humps = 0;  // changes from lower to upper case
  size_t joints = 0;
  size_t slashes = 0;
  size_t dots = 0;
};

Shape shape_of(std::string_view word) {
  Shape shape;
  for (size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    shape.digits += is_digit(c);
    shape.letters += is_lower(c) || is_upper(c);
    shape.hex += is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    shape.humps += i > 0 && is_lower(word[i - 1]) && is_upper(c);
    shape.joints += c == '_' || c == '-';
    shape.slashes += c == '/';
    shape.dots += c == '.';
  }
  return shape;
}

// "main.cc", "v1.2.3"; not "etc." or "e.g".
bool has_extension(std::string_view word, const Shape& shape) {
  const size_t dot = word.rfind('.');
  return shape.dots > 0 && dot > 1 && word.size() - dot >= 2 && word.size() - dot <= 6 &&
         shape.letters > 0;
}

// 0: a word like any other.
uint32_t distinctive(std::string_view word) {
  const Shape s = shape_of(word);
  if (word.starts_with("http://") || word.starts_with("https://")) return 4;
  if (word.find("://") != std::string_view::npos) return 3;
  if (s.letters > 0 && s.slashes > 0 && (s.slashes > 1 || has_extension(word, s))) return 4;
  if (s.slashes > 0) return 0;
  if (s.letters == 0) return s.digits >= 5 && s.dots == 0 && word.find(':') == word.npos ? 1 : 0;
  if (s.hex + s.joints == word.size() && s.digits >= 2 && s.hex >= 7) return 4;
  if (has_extension(word, s)) return 3;
  if (s.digits > 0 && s.letters > 0 && word.size() >= 5) return 3;
  if (word.find('_') != std::string_view::npos && s.letters >= 4) return 2;
  return s.humps > 0 && s.letters >= 6 ? 2 : 0;
}

std::string_view trimmed(std::string_view word) {
  constexpr std::string_view kEdges = "-.:#@%+?=&~";
  while (!word.empty() && kEdges.find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  while (!word.empty() && kEdges.find(word.front()) != std::string_view::npos &&
         !word.starts_with("./") && !word.starts_with("../") && !word.starts_with("~/")) {
    word.remove_prefix(1);
  }
  return word;
}

}  // namespace

void Terms::add(std::string_view text, uint32_t weight) {
  if (text.size() > 2 * kScanBytes) {
    add(text.substr(0, kScanBytes), weight);
    text.remove_prefix(text.size() - kScanBytes);
  }
  const std::string clean = clean_text(text);
  for (std::string_view rest = clean; !rest.empty();) {
    const auto begin = std::find_if(rest.begin(), rest.end(), in_word);
    const auto end = std::find_if_not(begin, rest.end(), in_word);
    word(trimmed({begin, end}), weight);
    rest.remove_prefix(static_cast<size_t>(end - rest.begin()));
  }
}

void Terms::word(std::string_view word, uint32_t weight) {
  if (word.size() < kShortestTerm || word.size() > kTermBytes) return;
  const uint32_t kind = distinctive(word);
  if (kind == 0) return;
  std::string key(word);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (entries_.size() >= kTerms) return;
    found = entries_.emplace(std::move(key), Entry{}).first;
  }
  found->second.score = std::min(found->second.score + uint64_t{kind} * weight, kScoreOfOneTerm);
  found->second.order = ++order_;
}

std::vector<std::string> Terms::best(size_t count) const {
  std::vector<std::pair<Entry, std::string_view>> ranked;
  ranked.reserve(entries_.size());
  for (const auto& [term, entry] : entries_) ranked.emplace_back(entry, term);
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return a.first.score != b.first.score ? a.first.score > b.first.score
                                          : a.first.order > b.first.order;
  });
  std::vector<std::string> out;
  for (const auto& [entry, term] : ranked) {
    if (out.size() == count) break;
    out.emplace_back(term);
  }
  return out;
}

Terms terms_of(const SummaryInput& input) {
  Terms terms;
  const size_t removed = std::min(input.removed, input.list->messages.size());
  for (size_t i = 0; i < removed; ++i) {
    const WorkingMessage& message = input.list->messages[i];
    for (size_t p = 0; p < message.message->parts.size(); ++p) {
      const PartKind kind = message.message->parts[p].kind;
      const bool user = message.message->role == Role::user;
      if (kind == PartKind::text) {
        terms.add(standing_text(input.body, message, p), user ? kUserWeight : kModelWeight);
      } else if (kind == PartKind::tool_call || kind == PartKind::tool_result) {
        terms.add(standing_text(input.body, message, p), kToolWeight);
      }
    }
  }
  return terms;
}

}  // namespace ebla::context
