// What the tool calls of the removed messages did: commands and how they ended, files and what
// happened to them, the newest plan. From arguments and results alone, no tool is known by heart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "context/summary/summary.h"
#include "schema/base/json.h"

namespace ebla::context {

enum class FileAction : uint8_t { read, written, edited, deleted, moved };

struct FileFact {
  std::string path;
  uint32_t counts[5] = {};  // by FileAction
  uint32_t failures = 0;
  size_t last = 0;  // message, from 1; 0: known from a summary before
};

struct RunFact {
  std::string what;  // this and the next two: RunName
  std::string kind;
  std::string group;
  std::string telling;  // the line of its newest result that says most, "" none
  uint32_t times = 0;
  bool answered = false;  // the newest call has its result
  bool failed = false;    // and failed
  bool error = false;     // or shows an error
  bool looks = false;     // RunName
  size_t last = 0;        // message
};

struct PlanStep {
  std::string text;
  std::string status;  // as the plan has it: "pending", "in_progress", "completed", …
  bool done = false;
};

struct PutAwayFact {
  std::string path;
  std::string what;  // tool, or kind
  uint64_t tokens = 0;
};

struct CallFacts {
  std::vector<FileFact> files;        // newest use first
  std::vector<RunFact> runs;          // newest first, equal ones together
  std::vector<PlanStep> plan;         // of the newest call or text that holds one
  std::vector<PutAwayFact> put_away;  // newest first
  std::string folder;                 // where the newest command that says so ran, "" unknown
};

CallFacts call_facts(const SummaryInput& input);
// "- [ ] step" lines of a text.
std::vector<PlanStep> checkboxes(std::string_view text);

}  // namespace ebla::context
