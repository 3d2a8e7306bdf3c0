// Transcripts as agents write them, built line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ebla::tools {

std::string json_text(std::string_view text);  // quoted

// Claude Code: each line hangs on the one before it, unless said otherwise.
class ClaudeCodeLines {
 public:
  ClaudeCodeLines& user(std::string_view text);
  ClaudeCodeLines& says(std::string_view id, std::string_view text, uint64_t output_tokens = 0);
  ClaudeCodeLines& calls(std::string_view id, std::string_view call, std::string_view tool);
  // `parent`: name of the line that it hangs on; "" for the one before.
  ClaudeCodeLines& result(std::string_view call, std::string_view text,
                          std::string_view parent = "");
  ClaudeCodeLines& compacts(std::string_view summary);
  ClaudeCodeLines& sidechain(std::string_view text);
  ClaudeCodeLines& raw(std::string_view line);
  // What follows hangs on the line of this name.
  ClaudeCodeLines& rewind(std::string_view name);

  std::string newest() const { return parent_; }  // name of the last line
  std::string text() const { return text_; }

 private:
  void line(std::string_view type, std::string_view more, std::string_view message);

  std::string text_;
  std::string parent_;
  size_t count_ = 0;
};

// Codex, one response item a line.
class CodexLines {
 public:
  explicit CodexLines(bool payloads);  // else the older shape

  CodexLines& user(std::string_view text);
  CodexLines& says(std::string_view text);
  CodexLines& calls(std::string_view call, std::string_view command);
  CodexLines& output(std::string_view call, std::string_view text);
  CodexLines& reasons();
  CodexLines& tokens(uint64_t output);
  CodexLines& compacts(std::string_view summary);
  std::string text() const { return text_; }

 private:
  void line(std::string_view type, std::string_view payload);
  CodexLines& item(std::string_view json);

  bool payloads_;
  std::string text_;
};

}  // namespace ebla::tools
