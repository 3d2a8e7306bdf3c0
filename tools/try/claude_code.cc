#include "tools/try/claude_code.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "tools/verbs/common.h"

namespace ebla::tools {
namespace {

bool is_speech(const Json& line) {
  const std::string type = string_at(line, "type");
  const Json* message = line.find("message");
  return (type == "user" || type == "assistant") && message != nullptr &&
         message->is(Json::Kind::object) && message->find("content") != nullptr;
}

// Calls and results of a message, by their ids.
std::set<std::string> ids_of(const Json& message, std::string_view type, std::string_view id) {
  std::set<std::string> ids;
  const Json* content = message.find("content");
  if (content == nullptr) {
    return ids;
  }
  for (const Json& block : content->items) {
    if (string_at(block, "type") == type) {
      ids.insert(string_at(block, id));
    }
  }
  return ids;
}

std::vector<Json> blocks_of(const Json& message) {
  const Json* content = message.find("content");
  if (content == nullptr || !content->is(Json::Kind::string)) {
    return content == nullptr ? std::vector<Json>() : content->items;
  }
  Json type;
  type.kind = Json::Kind::string;
  type.text = "text";
  Json block;
  block.kind = Json::Kind::object;
  block.members = {{"type", std::move(type)}, {"text", *content}};
  return {std::move(block)};
}

// One message of the list while its lines come in.
struct Gathered {
  bool by_model = false;
  std::string id;  // of the model's message
  std::vector<Json> blocks;
  uint64_t reported = 0;
  size_t lines = 0;
  const Json* only = nullptr;  // the content, where one line is all there is
};

std::string written(const Gathered& message) {
  JsonWriter out;
  out.begin_object().member("role", message.by_model ? "assistant" : "user").key("content");
  if (message.lines == 1 && message.only != nullptr) {
    return out.raw(to_json(*message.only)).end_object().take();
  }
  out.begin_array();
  // Results come first, as the interface has it.
  for (const bool results : {true, false}) {
    for (const Json& block : message.blocks) {
      if (message.by_model ? results : (string_at(block, "type") == "tool_result") == results) {
        out.raw(to_json(block));
      }
    }
  }
  return out.end_array().end_object().take();
}

}  // namespace

bool ClaudeCodeReader::is_line(const Json& line) {
  return line.find("uuid") != nullptr && line.find("parentUuid") != nullptr && is_speech(line);
}

bool ClaudeCodeReader::add(Json line) {
  if (!line.is(Json::Kind::object)) {
    return false;
  }
  const std::string uuid = string_at(line, "uuid");
  if (uuid.empty()) {
    return line.find("type") != nullptr;  // a title, a snapshot of files
  }
  Node node;
  node.uuid = uuid;
  node.parent = string_at(line, "parentUuid");
  if (node.parent.empty()) {
    node.parent = string_at(line, "logicalParentUuid");
  }
  node.compacts = true_at(line, "isCompactSummary");
  node.cut = node.compacts || string_at(line, "subtype") == "compact_boundary";
  const Json* message = line.find("message");
  // What the program itself wrote in the model's name was never sent.
  if (is_speech(line) && string_at(*message, "model") != "<synthetic>" &&
      (node.compacts || !true_at(line, "isVisibleInTranscriptOnly"))) {
    node.message = *message;
  }
  (true_at(line, "isSidechain") ? sidechain_ : nodes_).push_back(std::move(node));
  return true;
}

std::vector<bool> ClaudeCodeReader::active_branch() const {
  std::vector<bool> kept(nodes_.size(), false);
  size_t at = nodes_.size();
  while (at > 0 && !nodes_[at - 1].message.is(Json::Kind::object)) {
    --at;
  }
  while (at > 0 && !kept[at - 1]) {
    const Node& node = nodes_[at - 1];
    kept[at - 1] = true;
    const auto parent = by_uuid_.find(node.parent);
    if (parent != by_uuid_.end()) {
      at = parent->second + 1;
    } else if (node.parent.empty() && !node.cut) {
      at = 0;
    } else {
      --at;  // the parent's line is lost: the one before it is the best that is known
    }
  }
  return kept;
}

// Parallel calls fork the chain: each result hangs on the line of its own call, and only the last
// one is in front of what follows.
void ClaudeCodeReader::keep_parallel_calls(std::vector<bool>& kept) const {
  std::set<std::string> said;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (kept[i] && said_by_model(nodes_[i].message)) {
      said.insert(string_at(nodes_[i].message, "id"));
    }
  }
  said.erase("");
  std::set<std::string> open;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (said_by_model(nodes_[i].message)) {
      kept[i] = kept[i] || said.contains(string_at(nodes_[i].message, "id"));
      if (kept[i]) {
        open.merge(ids_of(nodes_[i].message, "tool_use", "id"));
      }
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (kept[i]) {
      for (const std::string& id : ids_of(nodes_[i].message, "tool_result", "tool_use_id")) {
        open.erase(id);
      }
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& id : ids_of(nodes_[i].message, "tool_result", "tool_use_id")) {
      if (open.erase(id) > 0) {
        kept[i] = true;
      }
    }
  }
}

void ClaudeCodeReader::build(const std::vector<bool>& kept, Transcript& out) const {
  std::vector<Gathered> list;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (!node.message.is(Json::Kind::object)) {
      continue;
    }
    if (!kept[i]) {
      ++out.abandoned_lines;
      continue;
    }
    if (node.compacts) {
      out.compactions.push_back({list.size(), to_json(node.message).size()});
      continue;
    }
    const bool by_model = said_by_model(node.message);
    const std::string id = string_at(node.message, "id");
    // The blocks of one answer go together, even when a result came between them.
    auto at = std::find_if(list.rbegin(), list.rend(),
                           [&](const Gathered& one) { return one.by_model == by_model; });
    const bool goes_on =
        at != list.rend() && (by_model ? !id.empty() && at->id == id : at == list.rbegin());
    if (!goes_on) {
      list.push_back({});
      at = list.rbegin();
      at->by_model = by_model;
      at->id = id;
    }
    std::vector<Json> blocks = blocks_of(node.message);
    std::ranges::move(blocks, std::back_inserter(at->blocks));
    at->only = node.message.find("content");
    ++at->lines;
    if (const Json* usage = node.message.find("usage"); usage != nullptr) {
      at->reported =
          std::max<uint64_t>(at->reported, static_cast<uint64_t>(std::max<int64_t>(
                                               0, number_at(*usage, "output_tokens").value_or(0))));
    }
    if (by_model && !string_at(node.message, "model").empty()) {
      out.model = string_at(node.message, "model");
    }
  }
  for (const Gathered& message : list) {
    out.messages.push_back({written(message), message.by_model, message.reported});
  }
}

void ClaudeCodeReader::finish(Transcript& out) {
  out.kind = "Claude Code";
  out.format = "anthropic";
  out.list_name = "messages";
  const auto speaks = [](const Node& node) { return node.message.is(Json::Kind::object); };
  if (std::ranges::any_of(nodes_, speaks)) {
    out.sidechain_lines = sidechain_.size();
  } else {
    // A file of its own for a sub-agent.
    nodes_ = std::move(sidechain_);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    by_uuid_[nodes_[i].uuid] = i;
  }
  std::vector<bool> kept = active_branch();
  keep_parallel_calls(kept);
  build(kept, out);
}

}  // namespace ebla::tools
