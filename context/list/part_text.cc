#include "context/list/part_text.h"

#include <algorithm>

#include "context/formats/format.h"
#include "context/formats/json_tree.h"
#include "context/formats/table.h"
#include "context/text/blank.h"

namespace ebla::context {
namespace {

// Of an argument that was put away.
constexpr size_t kArgumentBytes = 262'144;

constexpr std::string_view kHostNotes[] = {"system-reminder", "environment_context"};

const WorkingPart* working_part(const WorkingMessage& message, size_t part) {
  return part < message.parts.size() ? &message.parts[part] : nullptr;
}

// Without the blocks "<tag>…</tag>".
std::string without_block(std::string text, std::string_view tag) {
  const std::string open = std::string("<").append(tag).append(">");
  const std::string close = std::string("</").append(tag).append(">");
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const size_t end = text.find(close, at);
    if (end == std::string::npos) break;
    text.erase(at, end + close.size() - at);
  }
  return text;
}

// Of equal names the last one counts.
void set_member(std::string& object, std::string_view name, std::string_view value) {
  const Result<JsonTree> tree = JsonTree::read(object);
  const Span at = tree ? tree->root()[name].span() : Span{};
  if (!at.empty()) object.replace(at.begin, at.end - at.begin, json_string(value));
}

std::string marked_arguments(std::string_view body, const WorkingMessage& message, size_t part) {
  const Part& call = message.message->parts[part];
  std::string out = arguments_text(body, call);
  const WorkingPart* working = working_part(message, part);
  if (working == nullptr) return out;
  for (const WorkingArgument& each : working->arguments) {
    if (!each.replaced || each.text.empty()) continue;
    if (call.free_form) return each.text;
    set_member(out, each.name, each.text);
  }
  return out;
}

}  // namespace

std::string standing_text(std::string_view body, const WorkingMessage& message, size_t part) {
  const Part& source = message.message->parts[part];
  if (source.kind == PartKind::tool_call) return marked_arguments(body, message, part);
  const WorkingPart* working = working_part(message, part);
  if (working != nullptr && working->replaced && !working->text.empty()) return working->text;
  return text_of(body, source);
}

std::string arguments_text(std::string_view body, const Part& call) {
  const std::string_view raw = call.arguments.of(body);
  if (raw.empty() || raw.front() != '"') return std::string(raw);
  const Result<Json> decoded = parse_json(raw);
  return decoded && decoded->is(Json::Kind::string) ? decoded->text : std::string(raw);
}

Json arguments_value(std::string_view body, const Part& call) {
  Result<Json> value = parse_json(arguments_text(body, call));
  return value && value->is(Json::Kind::object) ? std::move(*value) : Json();
}

Json given_arguments(std::string_view body, const WorkingMessage& message, size_t part,
                     const Excerpt& excerpt) {
  std::string text = marked_arguments(body, message, part);
  const bool free_form = message.message->parts[part].free_form;
  Json given;
  if (auto parsed = free_form ? Result<Json>() : parse_json(text)) given = std::move(*parsed);
  if (!given.is(Json::Kind::object)) {
    given = {};
    given.kind = Json::Kind::string;
    given.text = std::move(text);
  }
  const WorkingPart* working = working_part(message, part);
  if (working == nullptr || !excerpt) return given;
  for (const WorkingArgument& each : working->arguments) {
    if (!each.replaced) continue;
    std::string whole = excerpt(message, part, each.name, kArgumentBytes);
    if (whole.empty()) continue;
    if (given.is(Json::Kind::string)) {
      given.text = std::move(whole);
      continue;
    }
    const auto at = std::find_if(given.members.rbegin(), given.members.rend(),
                                 [&each](const auto& member) { return member.first == each.name; });
    if (at != given.members.rend()) at->second.text = std::move(whole);
  }
  return given;
}

std::vector<PutAway> put_away_of(const WorkingMessage& message, size_t part) {
  const WorkingPart* working = working_part(message, part);
  std::vector<PutAway> found;
  if (working == nullptr) return found;
  if (working->replaced && !working->path.empty()) {
    found.push_back({"", working->path, working->original_tokens});
  }
  for (const WorkingArgument& each : working->arguments) {
    if (!each.replaced || each.path.empty()) continue;
    found.push_back({each.name, each.path, each.original_tokens});
  }
  return found;
}

std::string user_text(std::string_view body, const WorkingMessage& message) {
  std::string out;
  for (size_t i = 0; i < message.message->parts.size(); ++i) {
    const Part& part = message.message->parts[i];
    if (part.kind != PartKind::text || part.stand_in) continue;
    std::string text = standing_text(body, message, i);
    for (const std::string_view tag : kHostNotes) text = without_block(std::move(text), tag);
    if (is_blank(text)) continue;
    out.append(out.empty() ? "" : "\n").append(text);
  }
  return out;
}

bool user_speaks(std::string_view body, const WorkingMessage& message) {
  return message.message->role == Role::user && !user_text(body, message).empty();
}

}  // namespace ebla::context
