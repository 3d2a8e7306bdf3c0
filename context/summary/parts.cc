// The way back from a summary message to what it was made of. Its titles stand in a fixed order,
// each once; foreign text in it either stands in a fence or has no line that begins with one '#'.
#include <algorithm>
#include <optional>

#include "context/summary/summary.h"
#include "context/texts.h"

namespace ebla::context {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view peek() const { return rest_.substr(0, rest_.find('\n')); }
  std::string_view line() {
    const std::string_view out = peek();
    rest_.remove_prefix(std::min(out.size() + 1, rest_.size()));
    return out;
  }
  bool skip(std::string_view wanted) {
    if (at_end() || peek() != wanted) return false;
    line();
    return true;
  }
  void skip_empty() {
    while (!at_end() && peek().empty()) line();
  }
  // Up to a line that is a title of ours, which stays.
  std::string_view until_title() {
    const std::string_view from = rest_;
    while (!at_end() && !peek().starts_with("# ")) line();
    return from.substr(0, from.size() - rest_.size());
  }
  // The text in a fence that opens here.
  std::optional<std::string> block() {
    skip_empty();
    const std::string_view fence = peek();
    if (fence.size() < 3 || fence.find_first_not_of('`') != std::string_view::npos) {
      return std::nullopt;
    }
    const std::string closing = "\n" + std::string(fence) + "\n";
    const size_t begin = fence.size() + 1;
    const size_t end = rest_.find(closing, begin);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(begin, end - begin));
    rest_.remove_prefix(end + closing.size());
    return text;
  }

 private:
  std::string_view rest_;
};

std::string without_edges(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of('\n'), text.size());
  text.remove_prefix(begin);
  while (text.ends_with("\n\n")) text.remove_suffix(1);
  return std::string(text);
}

void read_words(Reader& reader, std::vector<UserWords>& words) {
  reader.skip_empty();
  reader.skip(texts::kUserWordsLead);
  while (std::optional<std::string> text = reader.block()) {
    words.push_back({std::move(*text), ""});
    if (!reader.at_end() && reader.peek().starts_with('(')) words.back().note = reader.line();
  }
}

}  // namespace

SummaryParts parts_of_summary(std::string_view message) {
  SummaryParts parts;
  Reader reader(message);
  if (!reader.skip(texts::kSummaryTitle)) return parts;
  reader.skip_empty();
  if (!reader.skip(texts::kSummaryLead)) return parts;
  parts.summary = without_edges(reader.until_title());
  if (reader.skip(texts::kUserWordsTitle)) {
    read_words(reader, parts.words);
    reader.until_title();
  }
  if (reader.skip(texts::kCurrentTitle)) {
    parts.current_request = reader.block().value_or("");
    reader.until_title();
  }
  if (reader.skip(texts::kWhereTitle)) {
    reader.skip_empty();
    reader.skip(texts::kWhereLead);
    parts.where_to_look = std::string(reader.until_title());
    parts.where_to_look = without_edges(parts.where_to_look);
  }
  return parts;
}

}  // namespace ebla::context
