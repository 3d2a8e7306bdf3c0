// Rollouts of Codex: items of the Responses interface, each in a line of its own, in newer versions
// inside a `payload`.
#pragma once

#include "tools/try/transcript.h"

namespace ebla::tools {

class CodexReader final : public TranscriptReader {
 public:
  static bool is_line(const Json& line);

  bool add(Json line) override;
  void finish(Transcript& out) override;

 private:
  void add_item(const Json& item);
  void add_event(const Json& event);

  std::string model_;
  std::string instructions_;
  std::vector<TranscriptMessage> messages_;
  std::vector<Compaction> compactions_;
};

}  // namespace ebla::tools
