// Transcripts of Claude Code: a line for each block that the model said and each result, chained by
// parentUuid; a rewind leaves a branch behind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/try/transcript.h"

namespace ebla::tools {

class ClaudeCodeReader final : public TranscriptReader {
 public:
  static bool is_line(const Json& line);

  bool add(Json line) override;
  void finish(Transcript& out) override;

 private:
  struct Node {
    std::string uuid;
    std::string parent;     // "" for the first
    bool cut = false;       // what comes before it is not its parent, but the line before it
    bool compacts = false;  // the agent's own summary
    Json message;           // null for a line that only keeps the chain
  };

  std::vector<bool> active_branch() const;
  void keep_parallel_calls(std::vector<bool>& kept) const;
  void build(const std::vector<bool>& kept, Transcript& out) const;

  std::vector<Node> nodes_;
  std::vector<Node> sidechain_;  // lines of sub-agents
  std::map<std::string, size_t> by_uuid_;
};

}  // namespace ebla::tools
