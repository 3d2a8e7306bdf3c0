#include "tools/try/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "schema/base/fd.h"
#include "tools/json_spans.h"
#include "tools/try/claude_code.h"
#include "tools/try/codex.h"

namespace ebla::tools {
namespace {

// Lines that are looked at to tell the kind.
constexpr size_t kLinesToTell = 200;

std::string_view next_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool is_message(const Json& value) {
  return value.is(Json::Kind::object) &&
         (!string_at(value, "role").empty() || !string_at(value, "type").empty() ||
          value.find("lc") != nullptr);
}

// One message a line, in any format.
class PlainReader final : public TranscriptReader {
 public:
  bool add(Json line) override {
    if (!is_message(line)) {
      return false;
    }
    messages_.push_back({to_json(line), said_by_model(line), 0});
    return true;
  }
  void finish(Transcript& out) override {
    out.kind = "list of messages";
    out.messages = std::move(messages_);
  }

 private:
  std::vector<TranscriptMessage> messages_;
};

std::unique_ptr<TranscriptReader> reader_for(std::string_view text) {
  for (size_t i = 0; i < kLinesToTell && !text.empty(); ++i) {
    auto line = parse_json(next_line(text));
    if (line && ClaudeCodeReader::is_line(*line)) {
      return std::make_unique<ClaudeCodeReader>();
    }
    if (line && CodexReader::is_line(*line)) {
      return std::make_unique<CodexReader>();
    }
  }
  return std::make_unique<PlainReader>();
}

Transcript read_lines(std::string_view text) {
  Transcript out;
  const auto reader = reader_for(text);
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = next_line(text);
    if (is_blank(line)) {
      continue;
    }
    auto json = parse_json(line);
    if (json && reader->add(std::move(*json))) {
      continue;
    }
    ++out.broken_lines;
    out.first_broken = out.first_broken == 0 ? number : out.first_broken;
  }
  reader->finish(out);
  return out;
}

// The messages of a list, each by its own bytes.
Result<void> take_list(std::string_view list, Transcript& out) {
  auto items = item_spans(list);
  if (!items) {
    return std::unexpected(items.error());
  }
  for (const std::string_view item : *items) {
    auto message = parse_json(item);
    if (!message || !is_message(*message)) {
      ++out.broken_lines;
      out.first_broken = out.first_broken == 0 ? out.messages.size() + 1 : out.first_broken;
      continue;
    }
    out.messages.push_back({std::string(item), said_by_model(*message), 0});
  }
  return {};
}

// The whole file as one request or one list; parse_error when it is neither.
Result<Transcript> read_document(std::string_view text) {
  Transcript out;
  if (text[text.find_first_not_of(" \t\r\n")] == '[') {
    out.kind = "list of messages";
    auto taken = take_list(text, out);
    return taken ? Result<Transcript>(std::move(out)) : std::unexpected(taken.error());
  }
  auto members = member_spans(text);
  if (!members) {
    return std::unexpected(members.error());
  }
  out.kind = "request";
  const MemberSpan* list = find_span(*members, "messages");
  list = list == nullptr ? find_span(*members, "input") : list;
  if (list == nullptr) {
    return fail(Code::parse_error, "no list of messages");
  }
  out.list_name = list->name;
  for (const MemberSpan& member : *members) {
    if (member.name == "model") {
      const auto model = parse_json(member.value);
      out.model = model ? model->text : "";
    } else if (member.name != list->name && member.name != "window") {
      out.members += fmt::format("{},", member.whole);
    }
  }
  auto taken = take_list(list->value, out);
  return taken ? Result<Transcript>(std::move(out)) : std::unexpected(taken.error());
}

}  // namespace

std::string string_at(const Json& object, std::string_view name) {
  const Json* value = object.find(name);
  return value != nullptr && value->is(Json::Kind::string) ? value->text : std::string();
}

bool said_by_model(const Json& message) {
  if (const std::string role = string_at(message, "role"); !role.empty()) {
    return role == "assistant" || role == "model";
  }
  const std::string type = string_at(message, "type");
  if (type == "ai" || type.starts_with("AIMessage") || type == "reasoning" ||
      type.ends_with("_call")) {
    return true;
  }
  const Json* id = message.find("lc") == nullptr ? nullptr : message.find("id");
  return id != nullptr && !id->items.empty() && id->items.back().text.starts_with("AIMessage");
}

Result<Transcript> parse_transcript(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return fail(Code::parse_error, "the transcript is empty");
  }
  auto document = read_document(text);
  Transcript out = document ? std::move(*document) : read_lines(text);
  if (out.messages.empty()) {
    return fail(Code::parse_error,
                "no message found: this is neither a transcript of Claude Code or Codex, nor a "
                "request, a list of messages, or one message a line");
  }
  return out;
}

Result<Transcript> read_transcript(const std::string& path) {
  auto text = read_file(path, kTranscriptBytes);
  if (!text) {
    return std::unexpected(text.error());
  }
  auto out = parse_transcript(*text);
  if (!out) {
    out.error().text = fmt::format("{}: {}", path, out.error().text);
  }
  return out;
}

}  // namespace ebla::tools
