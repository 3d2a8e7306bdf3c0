// The removed messages as a summariser reads them: entries in order, each a label of ours and a
// text in a fence. Messages have the numbers of the whole conversation, as in the history. Media
// are references, never data; what was put away is its replacement and how the original began.
#pragma once

#include <string>
#include <vector>

#include "context/summary/summary.h"

namespace ebla::context {

struct TranscriptEntry {
  std::string label;  // begins with a newline; a medium is a label alone
  std::string text;   // clean, strict UTF-8
};

std::vector<TranscriptEntry> transcript(const SummaryInput& input);
// The same for messages that stay beside the summary.
std::vector<TranscriptEntry> transcript_of(std::string_view body,
                                           const std::vector<WorkingMessage>& messages,
                                           const Excerpt& excerpt);
void append_entry(std::string& out, const TranscriptEntry& entry);

}  // namespace ebla::context
