#include "tools/try/codex.h"

#include <algorithm>
#include <utility>

#include "tools/verbs/common.h"

namespace ebla::tools {
namespace {

// What goes into the list that the model gets; the rest of a rollout is about the program.
bool is_item(std::string_view type) {
  return type == "message" || type == "reasoning" || type.ends_with("_call") ||
         type.ends_with("_call_output");
}

}  // namespace

bool CodexReader::is_line(const Json& line) {
  const std::string type = string_at(line, "type");
  const Json* payload = line.find("payload");
  if (payload != nullptr && payload->is(Json::Kind::object)) {
    return type == "session_meta" || type == "response_item" || type == "event_msg" ||
           type == "turn_context" || type == "compacted";
  }
  // The older shape begins with a line about the session.
  return line.find("record_type") != nullptr ||
         (type.empty() && line.find("instructions") != nullptr && line.find("id") != nullptr &&
          line.find("timestamp") != nullptr);
}

bool CodexReader::add(Json line) {
  if (!line.is(Json::Kind::object)) {
    return false;
  }
  const std::string type = string_at(line, "type");
  const Json* payload = line.find("payload");
  if (payload == nullptr) {
    if (is_item(type)) {
      add_item(line);
    } else if (line.find("instructions") != nullptr) {
      instructions_ = string_at(line, "instructions");
    }
    return !type.empty() || is_line(line);
  }
  if (type == "response_item") {
    if (is_item(string_at(*payload, "type"))) {
      add_item(*payload);
    }
  } else if (type == "session_meta") {
    instructions_ = string_at(*payload, "instructions");
    if (const Json* base = payload->find("base_instructions"); base != nullptr) {
      instructions_ = string_at(*base, "text");
    }
  } else if (type == "turn_context" && !string_at(*payload, "model").empty()) {
    model_ = string_at(*payload, "model");
  } else if (type == "compacted") {
    compactions_.push_back({messages_.size(), string_at(*payload, "message").size()});
  } else if (type == "event_msg") {
    add_event(*payload);
  }
  return true;
}

void CodexReader::add_item(const Json& item) {
  messages_.push_back({to_json(item), said_by_model(item), 0});
}

// The usage of a call stands behind what the model said in it.
void CodexReader::add_event(const Json& event) {
  const Json* info = event.find("info");
  const Json* usage = info == nullptr ? nullptr : info->find("last_token_usage");
  if (string_at(event, "type") != "token_count" || usage == nullptr) {
    return;
  }
  const auto output = number_at(*usage, "output_tokens").value_or(0);
  const auto newest = std::find_if(messages_.rbegin(), messages_.rend(),
                                   [](const TranscriptMessage& one) { return one.by_model; });
  if (newest != messages_.rend() && output > 0) {
    newest->reported = static_cast<uint64_t>(output);
  }
}

void CodexReader::finish(Transcript& out) {
  out.kind = "Codex";
  out.format = "responses";
  out.list_name = "input";
  out.model = std::move(model_);
  if (!instructions_.empty()) {
    JsonWriter text;
    out.members = "\"instructions\":" + text.string(instructions_).take() + ",";
  }
  out.messages = std::move(messages_);
  out.compactions = std::move(compactions_);
}

}  // namespace ebla::tools
