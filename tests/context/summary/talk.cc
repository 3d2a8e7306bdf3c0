#include "tests/context/summary/talk.h"

#include <fmt/format.h>

namespace ebla::context::test {

std::string json_token(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const bool surrogate = byte == 0xED && i + 2 < text.size() && (text[i + 1] & 0x20) != 0;
    if (text[i] == '"' || text[i] == '\\') {
      out.append("\\").append(1, text[i]);
    } else if (byte < 0x20) {
      out += fmt::format("\\u{:04x}", byte);
    } else if (surrogate) {
      out += fmt::format("\\ud{:03x}", ((text[i + 1] & 0x3F) << 6) | (text[i + 2] & 0x3F));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out + "\"";
}

Span Talk::token(std::string_view text) {
  const size_t begin = body_.size();
  body_ += json_token(text);
  const Span span{begin, body_.size()};
  body_ += ",\n";
  return span;
}

Message& Talk::add(Role role) {
  Message& message = messages_.emplace_back();
  message.role = role;
  WorkingMessage working;
  working.message = &message;
  working.index = messages_.size() - 1;
  working.place = working.index;
  list_.messages.push_back(working);
  return message;
}

Part& Talk::part(PartKind kind) {
  list_.messages.back().parts.emplace_back();
  Part& part = messages_.back().parts.emplace_back();
  part.kind = kind;
  return part;
}

Talk& Talk::user(std::string_view text) {
  add(Role::user);
  Part& made = part(PartKind::text);
  made.span = token(text);
  made.texts = {made.span};
  return *this;
}

Talk& Talk::assistant(std::string_view text) {
  user(text);
  messages_.back().role = Role::assistant;
  return *this;
}

Talk& Talk::rules(std::string_view text) {
  user(text);
  messages_.back().role = Role::system;
  return *this;
}

Talk& Talk::call(std::string_view id, std::string_view tool, std::string_view arguments,
                 std::string_view text) {
  if (text.empty()) {
    add(Role::assistant);
  } else {
    assistant(text);
  }
  Part& made = part(PartKind::tool_call);
  made.arguments = {body_.size(), body_.size() + arguments.size()};
  body_.append(arguments).append(",\n");
  made.span = made.arguments;
  made.call_id = id;
  made.tool = tool;
  return *this;
}

Talk& Talk::result(std::string_view id, std::string_view tool, std::string_view text, bool error) {
  add(Role::tool);
  Part& made = part(PartKind::tool_result);
  made.span = token(text);
  made.texts = {made.span};
  made.content = made.span;
  made.call_id = id;
  made.tool = tool;
  made.error = error;
  return *this;
}

Talk& Talk::image(std::string_view media_type, std::string_view base64) {
  Part& made = part(PartKind::image);
  made.span = token(base64);
  made.data = made.span;
  made.media_type = media_type;
  return *this;
}

Talk& Talk::put_away(std::string_view path, uint64_t tokens, std::string_view replacement) {
  WorkingPart& working = list_.messages.back().parts.back();
  working.replaced = true;
  working.path = path;
  working.original_tokens = tokens;
  working.text = replacement;
  return *this;
}

Talk& Talk::id(std::string_view id) {
  messages_.back().id = id;
  return *this;
}

std::vector<const WorkingMessage*> Talk::all() const {
  std::vector<const WorkingMessage*> out;
  for (const WorkingMessage& message : list_.messages) out.push_back(&message);
  return out;
}

SummaryInput Talk::input(size_t removed) const {
  SummaryInput input;
  input.body = body_;
  input.list = &list_;
  input.removed = removed;
  input.max_tokens = 4'000;
  input.history_path = "/mnt/ebla/conversation_history/app-abcde.md";
  return input;
}

}  // namespace ebla::context::test
