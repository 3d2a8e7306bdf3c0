// What an agent has recorded of its work, as the list of messages that it sent to the model.
// Reading changes nothing. What is no part of that list (sub-agents, abandoned branches, lines that
// are cut off) is left out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/base/json.h"
#include "schema/base/limits.h"
#include "schema/base/result.h"

namespace ebla::tools {

constexpr size_t kTranscriptBytes = 1 * limits::kGiB;
// Where the provider has reported none: bytes of JSON for a token of what the model said.
constexpr uint64_t kBytesPerToken = 4;

struct TranscriptMessage {
  std::string json;       // as the model's interface takes it
  bool by_model = false;  // said by the model, so a call was made before it
  uint64_t reported = 0;  // tokens of output as the provider counted them; 0: not recorded
};

// The agent itself went on with a summary in place of all before `message`.
struct Compaction {
  size_t message = 0;  // index in the list
  uint64_t summary_bytes = 0;
};

struct Transcript {
  std::string kind;    // for people: "Claude Code", "Codex", "request", "list of messages"
  std::string format;  // of prepare; "": the daemon finds out
  std::string model;   // "" for none
  // What stands in the request beside the list: members with a comma behind each, and the list's
  // name. A list alone has neither.
  std::string members;
  std::string list_name;
  std::vector<TranscriptMessage> messages;
  std::vector<Compaction> compactions;
  size_t broken_lines = 0;  // no JSON, or no message
  size_t first_broken = 0;  // number of the first of them, from 1
  size_t sidechain_lines = 0;
  size_t abandoned_lines = 0;  // of branches that were left by a rewind
};

// file_not_found and so on for the file; parse_error when it holds no message of a known kind.
Result<Transcript> read_transcript(const std::string& path);
Result<Transcript> parse_transcript(std::string_view text);

// Text of a member as it is; "" when it is absent or no string.
std::string string_at(const Json& object, std::string_view name);
// Whether a message of any format was said by the model.
bool said_by_model(const Json& message);

// The readers of the kinds: each is given the lines in order, then makes the list.
class TranscriptReader {
 public:
  virtual ~TranscriptReader() = default;
  // False for a line that is not of this kind.
  virtual bool add(Json line) = 0;
  virtual void finish(Transcript& out) = 0;
};

}  // namespace ebla::tools
