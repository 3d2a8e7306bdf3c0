#include "context/summary/terms.h"

#include <algorithm>
#include <utility>

#include "context/list/part_text.h"
#include "context/text/ascii.h"
#include "context/text/quote.h"
#include "context/text/term_words.h"
#include "schema/base/json.h"

namespace ebla::context {
namespace {

constexpr size_t kPathBytes = 400;
constexpr size_t kScanBytes = 32'768;  // of one text, from each end
constexpr size_t kTerms = 50'000;
constexpr size_t kOfASeries = 2;
constexpr uint32_t kUserWeight = 12;
constexpr uint32_t kModelWeight = 4;
constexpr uint32_t kToolWeight = 1;
constexpr uint32_t kPathWeight = 2;  // a path that is an argument
constexpr uint32_t kTelling = 4;     // of a path
constexpr int kArgumentDepth = 8;
// More mentions by the same one say no more.
constexpr uint64_t kMentions = 10;

// "unit_12.cc" and "unit_7.cc" are of one: a few say what the others are called.
std::string series_of(std::string_view term) {
  std::string out;
  for (const char c : term) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || !out.ends_with('0')) out += digit ? '0' : c;
  }
  return out;
}

// "file_path", "filename": what it is given is a path, whatever it looks like.
bool names_path(std::string_view name) {
  const std::string low = lowered(name);
  return low.find("path") != low.npos || low.find("file") != low.npos;
}

void add_arguments(Terms& terms, std::string_view name, const Json& value, int depth) {
  if (depth == 0) return;
  if (value.is(Json::Kind::string)) terms.add_value(value.text, kToolWeight, names_path(name));
  for (const Json& item : value.items) add_arguments(terms, name, item, depth - 1);
  for (const auto& [key, member] : value.members) add_arguments(terms, key, member, depth - 1);
}

void add_call(Terms& terms, const SummaryInput& input, const WorkingMessage& message, size_t part) {
  const Json arguments = given_arguments(input.body, message, part, input.excerpt);
  if (arguments.is(Json::Kind::string)) return terms.add(arguments.text, kToolWeight);
  add_arguments(terms, "", arguments, kArgumentDepth);
}

}  // namespace

void Terms::add(std::string_view text, uint32_t weight) {
  if (text.size() > 2 * kScanBytes) {
    add(text.substr(0, kScanBytes), weight);
    text.remove_prefix(text.size() - kScanBytes);
  }
  each_term(clean_text(text), [this, weight](std::string_view term, uint32_t telling) {
    word(term, telling, weight);
  });
}

void Terms::add_value(std::string_view text, uint32_t weight, bool path) {
  const bool one = text.size() <= kPathBytes && text.find('\n') == text.npos &&
                   text.find("://") == text.npos && text.find('.') != text.npos;
  if (!is_path(text) && !(path && one)) return add(text, weight);
  word(clean_text(text), kTelling, kPathWeight * weight);
}

void Terms::word(std::string_view word, uint32_t telling, uint32_t weight) {
  std::string key(word);
  auto found = entries_.find(key);
  if (found == entries_.end()) {
    if (entries_.size() >= kTerms) return;
    found = entries_.emplace(std::move(key), Entry{}).first;
  }
  uint64_t& score = found->second.score;
  const uint64_t most = kMentions * kTelling * weight;
  if (score < most) score = std::min(score + uint64_t{telling} * weight, most);
  found->second.spoken |= weight >= kUserWeight;
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
  std::unordered_map<std::string, size_t> series;
  for (const auto& [entry, term] : ranked) {
    if (out.size() == count) break;
    // Whoever searches for the one finds the other.
    const bool part =
        std::any_of(out.begin(), out.end(), [&term = term](const std::string& better) {
          return better.find(term) != std::string::npos;
        });
    if (part || (!entry.spoken && ++series[series_of(term)] > kOfASeries)) continue;
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
      } else if (kind == PartKind::tool_call) {
        add_call(terms, input, message, p);
      } else if (kind == PartKind::tool_result) {
        terms.add(standing_text(input.body, message, p), kToolWeight);
      }
    }
  }
  return terms;
}

}  // namespace ebla::context
