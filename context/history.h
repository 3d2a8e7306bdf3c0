// Sections of /conversation_history/SESSION.md: ebla-history(5). Nothing inside a section can pass
// for a heading or close a fence.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "context/list/working_list.h"
#include "context/summary/summary.h"

namespace ebla::context {

struct SectionInput {
  std::string_view body;
  std::vector<const WorkingMessage*> messages;
  uint64_t ordinal = 1;        // of the section in the file
  int64_t now_ns = 0;          // UTC, shown to the second
  uint64_t first_message = 1;  // 1-based number of the first message in the session's list
  uint64_t last_message = 0;   // of a section without messages: the last that it summarises
  uint64_t rewind_to = 0;      // 0: none; else "after rewind to message N"
  std::string_view summary;    // "" for sections that only append
  uint64_t lines_before = 0;   // of the file
  // Path of the file of a medium that was taken out ("" none), by message and part. Without the
  // function: WorkingPart::path.
  std::function<std::string(const WorkingMessage&, size_t part)> media_link;
  // How a text that was put away began; without it nothing is told of that.
  Excerpt excerpt;
};

// Messages are numbered first_message, first_message + 1, …; the file's end is taken for the
// place where the section goes. Cost: linear in what is rendered.
struct Section {
  std::string text;
  uint64_t lines = 0;
  std::vector<uint64_t> message_lines;  // in the file, 1-based, one for each message
};
Section render_section(const SectionInput& input);

}  // namespace ebla::context
