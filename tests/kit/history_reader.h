// Reads a history file as ebla-history(5) describes it, strictly: whatever does not follow the page
// is an error. Knows nothing of the code that writes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/result.h"

namespace ebla::kit {

struct HistoryPart {
  std::string label;                 // the whole line
  std::string kind;                  // its first word
  std::vector<std::string> quoted;   // unquoted texts of the label, in order
  std::optional<std::string> block;  // content, nullopt: a label alone
};

struct HistoryMessage {
  uint64_t number = 0;
  uint64_t line = 0;  // of the heading, in the file
  std::string role;
  std::string id;
  std::vector<HistoryPart> parts;
};

struct HistorySection {
  uint64_t ordinal = 0;
  uint64_t first = 0;
  uint64_t last = 0;
  std::string time;
  uint64_t rewind_to = 0;
  std::optional<std::string> summary;
  std::vector<HistoryMessage> messages;
};

// `corrupt` names the line and what was expected there.
Result<std::vector<HistorySection>> parse_history(std::string_view text);

}  // namespace ebla::kit
