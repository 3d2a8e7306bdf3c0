#include "context/summary/said.h"

#include <algorithm>

#include "context/list/part_text.h"
#include "context/summary/sentences.h"
#include "context/text/quote.h"

namespace ebla::context {
namespace {

constexpr size_t kNoteChars = 200;

}  // namespace

std::string assistant_text(std::string_view body, const WorkingMessage& message) {
  std::string out;
  if (message.message->role != Role::assistant) return out;
  for (size_t i = 0; i < message.message->parts.size(); ++i) {
    if (message.message->parts[i].kind == PartKind::text) {
      out.append(out.empty() ? "" : "\n").append(standing_text(body, message, i));
    }
  }
  return out;
}

std::vector<Said> said_in(const SummaryInput& input) {
  std::vector<Said> out;
  const auto& all = input.list->messages;
  const size_t removed = std::min(input.removed, all.size());
  for (size_t i = 0; i < std::min(removed + 1, all.size()); ++i) {
    if (!out.empty() && user_speaks(input.body, all[i])) out.back().ends = true;
    if (i == removed) break;
    std::string text = assistant_text(input.body, all[i]);
    if (!one_line(text, 1).empty()) out.push_back({i, std::move(text), false});
  }
  return out;
}

std::string findings_of(std::string_view text) {
  std::string out;
  for (const std::string& sentence : sentences_of(text)) {
    if (bears(sentence, Mark::intent) || bears(sentence, Mark::decision)) continue;
    out.append(out.empty() ? "" : " ").append(sentence);
  }
  return one_line(out, kNoteChars);
}

}  // namespace ebla::context
